// SPDX-License-Identifier: MIT
//
// NeXus: attributes of groups and arrays that say what a plot shows, in whatever format they
// are stored. Attributes of the group (NIAC2014), those of arrays (`signal`, `axes`), and the
// oldest ones (`axis`, `primary`).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "model/error.h"

namespace ndlfs::backends {

// The class of a group, such as "NXdata"; empty if it has none.
std::string NexusClassOf(const Node& group);

// The children of a group, for functions that need not load all of them.
struct NexusChildren {
  std::function<model::Result<std::vector<std::string>>()> list;
  // Follows links. Null if there is no such child, or it cannot be loaded now.
  std::function<std::shared_ptr<const Node>(std::string_view name)> load;
};

// Names of children of a group of class NXdata.
struct NexusPlot {
  std::string signal;
  // In the order of the dimensions of the signal; "" for a dimension without an axis.
  std::vector<std::string> axes;
  // Other arrays with the dimensions of the signal.
  std::vector<std::string> companions;
  // Other arrays along dimensions of the signal, and which these are.
  struct Along {
    std::string name;
    std::vector<size_t> dimensions;
  };
  std::vector<Along> along;
};
// nullopt if the group shows no array, or says nothing about its dimensions that holds.
std::optional<NexusPlot> FindNexusPlot(const Node& group, const NexusChildren& children);

// The child that a group shows first: the attribute `default`, or else the first one of class
// NXentry or NXdata. Empty if there is none, and for an NXdata.
std::string NexusDefaultOf(const Node& group, const NexusChildren& children);

// `hierarchy`, whose arrays have the dimension names and coordinates that plots of NeXus give
// them, if they have none of their own. Groups that are no NeXus cost next to nothing. A store
// with versions (versioned.h) stays as it is.
std::shared_ptr<const Hierarchy> WithNexus(std::shared_ptr<const Hierarchy> hierarchy);

}  // namespace ndlfs::backends
