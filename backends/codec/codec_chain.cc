// SPDX-License-Identifier: MIT
#include "backends/codec/codec_chain.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "backends/base/checked.h"

namespace ndlfs::backends {
namespace {

using SizeBound = BytesToBytesCodec::SizeBound;

constexpr size_t kMaxCodecs = 32;  // bits of a filter mask

bool IsSkipped(uint32_t skip, size_t index) { return (skip >> index) & 1; }

// The output size for the first attempt to decode elements of variable size.
// Text rarely compresses better than by this factor.
uint64_t FirstGuess(uint64_t encoded_size, uint64_t limit) {
  return std::min(limit, encoded_size * 8 + 65536);
}

model::Failure WrongSize(uint64_t found, uint64_t expected) {
  return model::Corrupt("{} bytes, expected {}", found, expected);
}

}  // namespace

ByteSpan Scratch::Get(int slot, size_t size) {
  Bytes& bytes = slots_[slot];
  if (bytes.size() < size) {
    bytes = Bytes();  // first free, then allocate
    bytes = Bytes(size);
  }
  return bytes.span().first(size);
}

void Scratch::Trim(size_t keep) {
  for (Bytes& bytes : slots_) {
    if (bytes.size() > keep) bytes = Bytes();
  }
}

// The steps that decode chunks of one shape.
struct CodecChain::Plan {
  enum class Kind : uint8_t { kBytes, kElements, kArray };
  struct Step {
    Kind kind;
    size_t index;   // of the codec, among those of its kind
    uint64_t size;  // bytes of its output: exactly, or at most
    bool exact;
    bool writes;                  // otherwise its output is a part of its input
    bool in_place = false;        // it overwrites its input
    bool to_destination = false;  // otherwise it writes to scratch memory
    int slot = 0;                 // of the scratch memory
  };

  // forms[i] is the form that array to array codec i decodes to; the last one is
  // the form that the array to bytes codec decodes to.
  std::vector<ChunkForm> forms;
  // bounds[i] is the size that bytes to bytes codec i decodes to; the last one is
  // the size of the encoded chunk.
  std::vector<SizeBound> bounds;
  std::vector<Step> steps;  // in the order of decoding, only those that do something

  uint64_t decoded_size() const { return *forms.front().byte_size(); }

  // Decides where each step writes. The last one writes to the destination, the
  // others write to the two slots of scratch memory in turn. A step that works in
  // place writes to the output of the step before it.
  void AssignMemory() {
    if (steps.empty()) return;
    Step* last = &steps.back();
    if (last->in_place) last = &steps[steps.size() - 2];
    last->to_destination = last->writes && last->size == decoded_size();
    int slot = 0;
    for (Step& step : steps) {
      if (step.writes && !step.in_place && !step.to_destination) step.slot = slot = 1 - slot;
    }
  }
};

// Takes one chunk through the steps of a plan.
class CodecChain::Run {
 public:
  Run(const CodecChain& chain, const Plan& plan, ConstByteSpan encoded, ByteSpan decoded,
      Scratch& scratch, DecodeTimes* times)
      : chain_(chain),
        plan_(plan),
        current_(encoded),
        decoded_(decoded),
        scratch_(scratch),
        times_(times) {}

  model::Result<void> Decode() {
    DecodeTimer timer(times_);
    for (const Plan::Step& step : plan_.steps) {
      NDLFS_RETURN_IF_ERROR(Apply(step), Name(step));
      timer.NoteStep(Name(step), current_.size());
    }
    if (current_.size() != decoded_.size()) {
      return model::Propagate(WrongSize(current_.size(), decoded_.size()).value(),
                              chain_.array_to_bytes_->name());
    }
    if (current_.data() == decoded_.data()) return {};
    if (!decoded_.empty()) std::memcpy(decoded_.data(), current_.data(), decoded_.size());
    return {};
  }

 private:
  std::string_view Name(const Plan::Step& step) const {
    switch (step.kind) {
      case Plan::Kind::kBytes:
        return chain_.bytes_to_bytes_[step.index]->name();
      case Plan::Kind::kElements:
        return chain_.array_to_bytes_->name();
      default:
        return chain_.array_to_array_[step.index]->name();
    }
  }

  // The memory that the step writes to. It differs from its input, unless the step
  // works in place.
  ByteSpan Output(const Plan::Step& step) {
    if (!step.in_place) {
      written_ = step.to_destination ? decoded_ : scratch_.Get(step.slot, step.size);
    }
    return written_;
  }

  model::Result<void> Apply(const Plan::Step& step) {
    switch (step.kind) {
      case Plan::Kind::kBytes:
        return ApplyBytes(step);
      case Plan::Kind::kElements:
        return ApplyElements(step);
      default:
        return ApplyArray(step);
    }
  }

  model::Result<void> ApplyBytes(const Plan::Step& step) {
    const BytesToBytesCodec& codec = *chain_.bytes_to_bytes_[step.index];
    if (step.writes) {
      const ByteSpan output = Output(step);
      NDLFS_TRY(const size_t size, codec.Decode(current_, output));
      current_ = output.first(size);
    } else {
      NDLFS_TRY(current_, codec.DecodePart(current_));
    }
    const bool wrong = step.exact ? current_.size() != step.size : current_.size() > step.size;
    if (wrong) return WrongSize(current_.size(), step.size);
    return {};
  }

  model::Result<void> ApplyElements(const Plan::Step& step) {
    const SizeBound& bound = plan_.bounds.front();
    if (bound.exact && current_.size() != bound.size) {
      return WrongSize(current_.size(), bound.size);
    }
    const ByteSpan output = Output(step);
    NDLFS_RETURN_IF_ERROR(chain_.array_to_bytes_->Decode(current_, plan_.forms.back(), output));
    current_ = output;
    return {};
  }

  model::Result<void> ApplyArray(const Plan::Step& step) {
    // An array to bytes codec that does nothing has not checked the size.
    const uint64_t size = *plan_.forms[step.index + 1].byte_size();
    if (current_.size() != size) return WrongSize(current_.size(), size);
    const ByteSpan output = Output(step);
    NDLFS_RETURN_IF_ERROR(
        chain_.array_to_array_[step.index]->Decode(current_, plan_.forms[step.index], output));
    current_ = output;
    return {};
  }

  const CodecChain& chain_;
  const Plan& plan_;
  ConstByteSpan current_;
  ByteSpan written_;  // the output of the last step that wrote
  const ByteSpan decoded_;
  Scratch& scratch_;
  DecodeTimes* const times_;
};

model::Result<CodecChain> CodecChain::Make(
    const ChunkForm& decoded,
    std::vector<std::shared_ptr<const ArrayToArrayCodec>> array_to_array,
    std::shared_ptr<const ArrayToBytesCodec> array_to_bytes,
    std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes) {
  if (bytes_to_bytes.size() > kMaxCodecs || array_to_array.size() > kMaxCodecs) {
    return model::Limit("more than {} codecs", kMaxCodecs);
  }
  CodecChain chain;
  chain.dtype_ = decoded.dtype;
  chain.full_shape_ = decoded.shape;
  chain.array_to_array_ = std::move(array_to_array);
  chain.array_to_bytes_ = std::move(array_to_bytes);
  chain.bytes_to_bytes_ = std::move(bytes_to_bytes);
  NDLFS_TRY(Plan plan, chain.MakePlan(decoded.shape, 0));
  chain.full_plan_ = std::make_shared<const Plan>(std::move(plan));
  return chain;
}

model::Result<CodecChain::Plan> CodecChain::MakePlan(const std::vector<uint64_t>& shape,
                                                     uint32_t skip) const {
  Plan plan;
  NDLFS_RETURN_IF_ERROR(AddForms(shape, plan));
  AddBounds(skip, plan);
  if (dtype_.is_fixed_size()) AddSteps(skip, plan);
  return plan;
}

model::Result<void> CodecChain::AddForms(const std::vector<uint64_t>& shape, Plan& plan) const {
  plan.forms.push_back({dtype_, shape});
  for (const auto& codec : array_to_array_) {
    NDLFS_TRY(ChunkForm form, codec->EncodedForm(plan.forms.back()), codec->name());
    plan.forms.push_back(std::move(form));
  }
  for (const ChunkForm& form : plan.forms) {
    if (form.dtype.is_fixed_size() != dtype_.is_fixed_size()) {
      return model::Internal("a codec makes elements of variable size fixed, or the reverse");
    }
    if (form.byte_size().value_or(kMaxViewSize) >= kMaxViewSize ||
        form.element_count().value_or(kMaxViewSize) >= kMaxViewSize) {
      return model::Limit("a chunk of more than 2^62 bytes");
    }
  }
  return {};
}

void CodecChain::AddBounds(uint32_t skip, Plan& plan) const {
  const ChunkForm& form = plan.forms.back();
  plan.bounds.push_back({std::min(array_to_bytes_->MaxEncodedSize(form), kMaxViewSize),
                         array_to_bytes_->EncodedSize(form).has_value()});
  for (size_t i = 0; i < bytes_to_bytes_.size(); ++i) {
    SizeBound bound = plan.bounds.back();
    if (!IsSkipped(skip, i)) {
      const SizeBound next = bytes_to_bytes_[i]->EncodedSize(bound.size);
      bound = {std::min(next.size, kMaxViewSize), bound.exact && next.exact};
    }
    plan.bounds.push_back(bound);
  }
}

void CodecChain::AddSteps(uint32_t skip, Plan& plan) const {
  using Kind = Plan::Kind;
  for (size_t i = bytes_to_bytes_.size(); i-- > 0;) {
    if (IsSkipped(skip, i)) continue;
    const SizeBound& bound = plan.bounds[i];
    plan.steps.push_back(
        {Kind::kBytes, i, bound.size, bound.exact, !bytes_to_bytes_[i]->DecodesToPart()});
  }
  const ChunkForm& form = plan.forms.back();
  if (!array_to_bytes_->IsIdentity(form)) {
    Plan::Step step{Kind::kElements, 0, *form.byte_size(), true, true};
    const Plan::Step* before = plan.steps.empty() ? nullptr : &plan.steps.back();
    step.in_place = array_to_bytes_->DecodesInPlace(form) && before && before->writes &&
                    before->exact && before->size == step.size;
    plan.steps.push_back(step);
  }
  for (size_t i = array_to_array_.size(); i-- > 0;) {
    if (array_to_array_[i]->IsIdentity(plan.forms[i])) continue;
    plan.steps.push_back({Kind::kArray, i, *plan.forms[i].byte_size(), true, true});
  }
  plan.AssignMemory();
}

model::Result<const CodecChain::Plan*> CodecChain::PlanFor(
    const std::vector<uint64_t>& shape, uint32_t skip,
    std::shared_ptr<const Plan>& made) const {
  if (!full_plan_) return model::Internal("a chain without codecs");
  if (skip == 0 && shape == full_shape_) return full_plan_.get();
  NDLFS_TRY(Plan plan, MakePlan(shape, skip));
  made = std::make_shared<const Plan>(std::move(plan));
  return made.get();
}

uint64_t CodecChain::MaxEncodedSize(const std::vector<uint64_t>& shape) const {
  std::shared_ptr<const Plan> made;
  const auto plan = PlanFor(shape, 0, made);
  // For a shape that the codecs do not accept, Decode reports the error.
  return plan ? (*plan)->bounds.back().size : 0;
}

std::optional<uint64_t> CodecChain::ExactEncodedSize(const std::vector<uint64_t>& shape) const {
  std::shared_ptr<const Plan> made;
  const auto plan = PlanFor(shape, 0, made);
  if (!plan || !(*plan)->bounds.back().exact) return std::nullopt;
  return (*plan)->bounds.back().size;
}

uint64_t CodecChain::MaxScratchSize(const std::vector<uint64_t>& shape) const {
  std::shared_ptr<const Plan> made;
  const auto plan = PlanFor(shape, 0, made);
  if (!plan) return 0;
  uint64_t sizes[2] = {};
  for (const Plan::Step& step : (*plan)->steps) {
    if (step.writes && !step.in_place && !step.to_destination) {
      sizes[step.slot] = std::max(sizes[step.slot], step.size);
    }
  }
  return sizes[0] + sizes[1];
}

bool CodecChain::IsIdentity() const {
  return full_plan_ && dtype_.is_fixed_size() && full_plan_->steps.empty();
}

model::Result<void> CodecChain::Decode(ConstByteSpan encoded,
                                       const std::vector<uint64_t>& shape, ByteSpan decoded,
                                       Scratch& scratch, uint32_t skip,
                                       DecodeTimes* times) const {
  try {
    std::shared_ptr<const Plan> made;
    NDLFS_TRY(const Plan* plan, PlanFor(shape, skip, made));
    if (!dtype_.is_fixed_size() || decoded.size() != plan->decoded_size()) {
      return model::Internal("a chunk is decoded into memory of another size");
    }
    return Run(*this, *plan, encoded, decoded, scratch, times).Decode();
  } catch (const std::bad_alloc&) {
    return model::Limit("not enough memory to decode a chunk");
  }
}

bool CodecChain::DecodesRanges() const {
  if (!full_plan_ || full_plan_->steps.size() != 1) return false;
  const Plan::Step& step = full_plan_->steps.front();
  return step.kind == Plan::Kind::kBytes && bytes_to_bytes_[step.index]->DecodesRanges();
}

model::Result<uint64_t> CodecChain::RangedSize(const std::vector<uint64_t>& shape) const {
  if (!DecodesRanges()) return model::Internal("this chain cannot decode a range of a chunk");
  const auto size = ChunkForm{dtype_, shape}.byte_size();
  if (!size) return model::Limit("a chunk of more than 2^64 bytes");
  return *size;
}

model::Result<uint64_t> CodecChain::BlockSize(const EncodedChunk& encoded,
                                              const std::vector<uint64_t>& shape) const {
  NDLFS_TRY(const uint64_t size, RangedSize(shape));
  const auto& codec = *bytes_to_bytes_[full_plan_->steps.front().index];
  NDLFS_TRY(const uint64_t block, codec.BlockSize(encoded, size), codec.name());
  return block;
}

model::Result<void> CodecChain::DecodeRange(const EncodedChunk& encoded,
                                            const std::vector<uint64_t>& shape, uint64_t offset,
                                            uint64_t max_block, ByteSpan out) const {
  NDLFS_TRY(const uint64_t size, RangedSize(shape));
  if (offset > size || out.size() > size - offset) {
    return model::Internal("bytes {} + {} of {}", offset, out.size(), size);
  }
  const auto& codec = *bytes_to_bytes_[full_plan_->steps.front().index];
  try {
    NDLFS_RETURN_IF_ERROR(codec.DecodeRange(encoded, size, offset, max_block, out),
                          codec.name());
    return {};
  } catch (const std::bad_alloc&) {
    return model::Limit("not enough memory to decode a part of a chunk");
  }
}

// Decodes the bytes to bytes codecs without knowing the decoded size.
model::Result<ConstByteSpan> CodecChain::DecodeBytes(ConstByteSpan encoded, uint64_t limit,
                                                     Scratch& scratch, uint32_t skip,
                                                     DecodeTimer& timer) const {
  ConstByteSpan current = encoded;
  int slot = 0;
  for (size_t i = bytes_to_bytes_.size(); i-- > 0;) {
    if (IsSkipped(skip, i)) continue;
    const BytesToBytesCodec& codec = *bytes_to_bytes_[i];
    if (codec.DecodesToPart()) {
      NDLFS_TRY(current, codec.DecodePart(current), codec.name());
      timer.NoteStep(codec.name(), current.size());
      continue;
    }
    slot = 1 - slot;
    for (uint64_t size = FirstGuess(current.size(), limit);; size = std::min(limit, size * 8)) {
      const ByteSpan output = scratch.Get(slot, size);
      auto produced = codec.Decode(current, output);
      if (produced) {
        current = output.first(*produced);
        timer.NoteStep(codec.name(), current.size());
        break;
      }
      // The output may have been too small. Only a failure of the last attempt is
      // an error.
      if (size == limit) return model::Propagate(std::move(produced).error(), codec.name());
    }
  }
  return current;
}

model::Result<Bytes> CodecChain::DecodeVariable(ConstByteSpan encoded,
                                                const std::vector<uint64_t>& shape,
                                                uint64_t limit, Scratch& scratch, uint32_t skip,
                                                DecodeTimes* times) const {
  try {
    DecodeTimer timer(times);
    std::shared_ptr<const Plan> made;
    NDLFS_TRY(const Plan* plan, PlanFor(shape, skip, made));
    if (dtype_.is_fixed_size()) return model::Internal("elements of fixed size");
    NDLFS_TRY(const ConstByteSpan bytes, DecodeBytes(encoded, limit, scratch, skip, timer));
    NDLFS_TRY(Bytes stream, array_to_bytes_->DecodeVariable(bytes, plan->forms.back(), limit),
              array_to_bytes_->name());
    timer.NoteStep(array_to_bytes_->name(), stream.size());
    for (size_t i = array_to_array_.size(); i-- > 0;) {
      if (array_to_array_[i]->IsIdentity(plan->forms[i])) continue;
      NDLFS_TRY(stream,
                array_to_array_[i]->DecodeVariable(stream.span(), plan->forms[i], limit),
                array_to_array_[i]->name());
      timer.NoteStep(array_to_array_[i]->name(), stream.size());
    }
    return stream;
  } catch (const std::bad_alloc&) {
    return model::Limit("not enough memory to decode a chunk");
  }
}

}  // namespace ndlfs::backends
