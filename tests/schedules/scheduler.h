// SPDX-License-Identifier: MIT
//
// Runs threads one at a time, in an order that can be repeated.
//
// A scenario is a function that starts threads and waits for their end. While it runs, the
// mutexes, conditions, threads, sleeps and clocks of the process are those of a scheduler
// (scheduler.cc puts itself in the place of the functions of POSIX): at each of them it decides
// which thread goes on. Time stands still, and passes only while every thread waits, or by
// decision of the scheduler. So a scenario takes no longer than its work, and its course
// depends on nothing but the decisions. What threads do with atomics between two mutexes is not
// taken apart. Calls of the system by which files of a directory are found, changed and named
// are points of decision, too.
//
// A scenario in which all threads wait for each other ends the process with "deadlock", and one
// that does not end with "no end"; both name the schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace ndlfs::test {

using Scenario = std::function<void()>;

// Runs the scenario with `count` random schedules, or NDLFS_SCHEDULES of them, until one has
// failed an expectation. The message names its number: with NDLFS_SCHEDULE=number only that one
// runs.
void ForRandomSchedules(unsigned count, const Scenario& scenario);

// Runs the scenario with the random schedule of that number.
void RunSchedule(uint64_t number, const Scenario& scenario);
// NDLFS_SCHEDULE, if it is set.
std::optional<uint64_t> WantedSchedule();

// Runs the scenario with all schedules in which a thread that could go on is stopped at most
// `stops` times, but not more than `most` schedules. Returns how many there were.
uint64_t ForAllSchedules(unsigned stops, uint64_t most, const Scenario& scenario);

// The number of the schedule that runs, for what a scenario draws by itself; 0 outside of one.
uint64_t ScheduleNumber();

// A point at which the scheduler may let another thread go on. Nothing outside of a scenario.
void SchedulePoint();

}  // namespace ndlfs::test
