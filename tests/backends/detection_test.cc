// SPDX-License-Identifier: MIT
//
// Which files are taken for stores, and of what format.
#include "backends/detection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/foreign/foreign.h"
#include "backends/format/grib/grib.h"
#include "backends/format/hdf5/hdf5.h"
#include "backends/format/kerchunk/kerchunk.h"
#include "backends/format/n5/n5.h"
#include "backends/format/netcdf3/netcdf3.h"
#include "backends/format/npy/npy.h"
#include "backends/format/tiff/tiff.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/format/zip/zarr_zip.h"
#include "backends/store/local/local_source.h"
#include "tests/support/grib_builder.h"
#include "tests/support/lying_store.h"
#include "tests/support/memory_source.h"
#include "tests/support/python.h"
#include "tests/support/result.h"
#include "tests/support/zip_builder.h"

namespace ndlfs::backends {
namespace {

using test::MemoryStore;
using test::ZipBuilder;

const std::string kHdf5("\x89HDF\r\n\x1a\n", 8);
const std::string kNumpy("\x93NUMPY\1\0", 8);

std::string Padded(std::string text, size_t size = 1024) {
  text.resize(size);
  return text;
}

// `text`, and behind a user block the signature of HDF5.
std::string WithUserBlock(const std::string& text, size_t size = 512) {
  return Padded(Padded(text, size) + kHdf5, size + 512);
}

// The beginning of a netCDF classic file with one dimension.
std::string NetCdf(char version) {
  const size_t count = version == 5 ? 8 : 4;
  return Padded(std::string("CDF") + version + std::string(count, '\0') +
                std::string("\0\0\0\x0a", 4));
}

std::string Zip(std::initializer_list<const char*> names) {
  ZipBuilder builder;
  for (const char* name : names)
    builder.Add({.name = name, .data = "data of " + std::string(name)});
  return builder.Build();
}

class DetectionTest : public ::testing::Test {
 protected:
  // What a file with these bytes is under a name that tells nothing, and under
  // `name`.
  const Format* FormatOf(const std::string& bytes, const std::string& name = "wrfout_d01_00:00",
                         Detection detection = Detection::kContent) {
    test::WriteFile(directory_ / name, bytes);
    return LookIntoFile(*root_, name, detection).format;
  }
  const Format* FormatByName(const std::string& bytes, const std::string& name) {
    return FormatOf(bytes, name, Detection::kName);
  }

  const test::TemporaryDirectory directory_;
  const std::shared_ptr<const Source> root_ = LocalSource::Open(directory_.path()).value();
};

// How often the head of a file with these bytes is read to find out what it is.
int HeadReads(const std::string& bytes, const std::string& name) {
  const auto source = test::MemorySource::Make();
  source->Put(name, bytes);
  LookIntoFile(*source, name, Detection::kContent);
  const auto reads = source->reads();
  return static_cast<int>(std::count_if(reads.begin(), reads.end(), [](const auto& read) {
    return read.offset == 0 && read.size == 8200;
  }));
}

TEST(LookIntoFileTest, ReadsTheHeadOnce) {
  EXPECT_EQ(HeadReads(Padded("text", 100'000), "notes.txt"), 1);
  EXPECT_EQ(HeadReads(Padded("a: b\n", 100'000), "notes.yaml"), 1);
  EXPECT_EQ(HeadReads(Padded("{}", 100'000), "notes.json"), 1);
  ZipBuilder archive;
  archive.Add({.name = "notes.txt", .data = std::string(100'000, 'x')});
  EXPECT_EQ(HeadReads(archive.Build(), "notes.zip"), 1);
}

// Consolidated metadata are read only if they may be those of references.
TEST(DetectDirectoryTest, ReadsNothingOfAStoreThatItsNamesTell) {
  const auto source = test::MemorySource::Make();
  source->Put("d/.zmetadata", R"({"metadata": {}, "zarr_consolidated_format": 1})");
  EXPECT_THAT(DetectDirectory(*source, "d"), test::IsOkAnd(&ZarrFormat()));
  const size_t reads = source->reads().size();
  EXPECT_GT(reads, 0u);
  source->Put("d/.zgroup", R"({"zarr_format": 2})");
  EXPECT_THAT(DetectDirectory(*source, "d"), test::IsOkAnd(&ZarrFormat()));
  EXPECT_EQ(source->reads().size(), reads);
}

TEST_F(DetectionTest, GribIsFoundBehindABulletin) {
  const std::string message = test::GribMessageOf(test::GribTestField());
  EXPECT_EQ(FormatOf("SMVX01 KWBC 010000\r\r\n" + message), &GribFormat());
  EXPECT_EQ(FormatOf(std::string(2000, ' ') + message), nullptr);
  EXPECT_EQ(FormatOf(Padded("GRIB is a format of messages")), nullptr);
  EXPECT_EQ(FormatOf(NetCdf(1).substr(0, 100) + message), &NetCdf3Format());
}

TEST_F(DetectionTest, TiffIsFoundByItsSignature) {
  const std::string little("II\x2A\0\x08\0\0\0", 8), big("MM\0\x2B\0\x08\0\0", 8);
  for (const char* name : {"a.tif", "a.TIFF", "scan"}) {
    EXPECT_EQ(FormatOf(Padded(little), name), &TiffFormat()) << name;
    EXPECT_EQ(FormatOf(Padded(big), name), &TiffFormat()) << name;
    EXPECT_EQ(FormatOf(Padded("II*text"), name), nullptr) << name;
    EXPECT_EQ(FormatOf(Padded(std::string("II\x55\0\x08\0\0\0", 8)), name), nullptr) << name;
  }
}

TEST_F(DetectionTest, ContentTellsUnderAnyName) {
  EXPECT_EQ(FormatOf(Padded(kHdf5)), &Hdf5Format());
  EXPECT_EQ(FormatOf(WithUserBlock("MATLAB 7.3 MAT-file")), &Hdf5Format());
  for (const char version : {'\1', '\2', '\5'}) {
    EXPECT_EQ(FormatOf(NetCdf(version)), &NetCdf3Format());
  }
  EXPECT_EQ(FormatOf(Padded(kNumpy)), &NpyFormat());
  EXPECT_EQ(FormatOf(Zip({"a.npy", "b/", "b/c.npy"})), &NpzFormat());
  EXPECT_EQ(FormatOf(Zip({"t/0.0", "t/.zarray", ".zgroup"})), &ZarrZipFormat());
  EXPECT_EQ(FormatOf(Zip({"inner/zarr.json"})), &ZarrZipFormat());
}

TEST_F(DetectionTest, UserBlocksOfHdf5AreOfAnySizeThatIsAPowerOfTwo) {
  for (const size_t size : {512, 1024, 2048, 4096, 8192}) {
    EXPECT_EQ(FormatOf(WithUserBlock("words", size)), &Hdf5Format()) << size;
    EXPECT_EQ(FormatOf(WithUserBlock("words", size + 8)), nullptr) << size;
    EXPECT_EQ(FormatByName(WithUserBlock("words", size), "a.dat"), nullptr) << size;
  }
}

TEST_F(DetectionTest, ConsolidatedMetadataUnderAnotherNameAreNoReferences) {
  const std::string zmetadata =
      R"({"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}})";
  EXPECT_EQ(FormatOf(zmetadata, "meta.json"), nullptr);
  EXPECT_EQ(
      FormatOf(R"({"metadata": {"a/.zarray": {}, ".zattrs": {}}, "other": [1]})", "m.json"),
      nullptr);
  EXPECT_EQ(
      FormatOf(R"({".zgroup": "{\"zarr_format\": 2}", ".zmetadata": "{}", "a": 1})", "r.json"),
      &KerchunkFormat());
  EXPECT_EQ(FormatOf(R"({"version": 1, "metadata": {}, "refs": {".zgroup": "{}"}})", "r.json"),
            &KerchunkFormat());
}

TEST_F(DetectionTest, ContentTellsUnderTheNameOfAnotherFormatToo) {
  EXPECT_EQ(FormatOf(Padded(kNumpy), "a.nc"), &NpyFormat());
  EXPECT_EQ(FormatOf(NetCdf(1), "a.npy"), &NetCdf3Format());
  EXPECT_EQ(FormatOf(NetCdf(1), "a.json"), &NetCdf3Format());
  EXPECT_EQ(FormatOf(Padded(kHdf5), "a.npz"), &Hdf5Format());
  EXPECT_EQ(FormatOf(Padded(kHdf5), "a.yaml"), &Hdf5Format());
}

TEST_F(DetectionTest, PlainFilesStayPlain) {
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string("CDF is a word"), Padded("CDF\3"),
        Padded("CDF\1 and then some text"), std::string("\x93NUMPY\1"), kHdf5,
        Padded("PK\3\4 is no archive"), WithUserBlock("text", 1536), Padded("{\"refs\": {}}"),
        Zip({"[Content_Types].xml", "word/document.xml"}), Zip({"META-INF/MANIFEST.MF"}),
        Zip({"a.npy", "readme.txt"}), Zip({"folder/", "folder/a.txt"}),
        Zip({"a.npy", "b.npy"}).substr(0, 80)}) {
    EXPECT_EQ(FormatOf(bytes), nullptr) << bytes.substr(0, 40);
  }
}

TEST_F(DetectionTest, NameTellsWhereTheContentDoesNot) {
  EXPECT_EQ(FormatOf("text", "a.npy"), &NpyFormat());
  EXPECT_EQ(FormatOf("text", "a.npz"), &NpzFormat());
  EXPECT_EQ(FormatOf(Padded("{\"refs\": {}}"), "a.json"), &KerchunkFormat());
  EXPECT_EQ(FormatOf("CDF\3", "a.nc"), &NetCdf3Format());
  EXPECT_EQ(FormatOf("text", "a.nc"), &Hdf5Format());
  EXPECT_EQ(FormatOf(WithUserBlock("", 1024), "a.h5"), &Hdf5Format());
  EXPECT_EQ(FormatOf(Zip({"[Content_Types].xml"}), "a.h5"), &Hdf5Format());
}

TEST_F(DetectionTest, OnlyWhereTheNameToldTheFormatTheErrorTellsTheContent) {
  const auto message = [&](const std::string& name, const std::string& bytes) -> std::string {
    test::WriteFile(directory_ / name, bytes);
    const auto opened = OpenAnyStore(root_, name, {});
    return opened ? "no error" : opened.error().message();
  };
  const auto tells_content = ::testing::HasSubstr("like no array store");
  EXPECT_THAT(message("a.npz", "text"), tells_content);
  const std::string classic = "CDF\1" + std::string(7, '\0') + "\x99" + std::string(40, '\0');
  EXPECT_THAT(message("a.nc", classic),
              ::testing::AllOf(::testing::HasSubstr("dimensions: "), Not(tells_content)));
  EXPECT_THAT(message("a.hdr", "ENVI\nsamples = x\n"),
              ::testing::AllOf(::testing::HasSubstr("data type"), Not(tells_content)));
  EXPECT_THAT(
      message("values.ndl.yaml", "/:\n  ndarrays:\n    a: {shape: [3], type: float99}\n"),
      ::testing::AllOf(::testing::HasSubstr("float99"), Not(tells_content)));
}

TEST_F(DetectionTest, OfTwoFormatsAtOnceTheOneWhoseSignatureComesFirst) {
  EXPECT_EQ(FormatOf(WithUserBlock(kNumpy)), &NpyFormat());
  EXPECT_EQ(FormatOf(WithUserBlock(NetCdf(2).substr(0, 16))), &NetCdf3Format());
  // Such that the signature lies at byte 512 of the archive.
  const auto shifted = [&](const char* name) {
    const size_t header = 30 + std::string(name).size() + 8;  // as ZipBuilder writes it
    return ZipBuilder()
        .Add({.name = name, .data = std::string(512 - header, 'x') + kHdf5 + "and more"})
        .Build();
  };
  EXPECT_EQ(FormatOf(shifted(".zgroup")), &ZarrZipFormat());
  EXPECT_EQ(FormatOf(shifted("a.npy")), &NpzFormat());
  EXPECT_EQ(FormatOf(shifted("word/document.xml")), &Hdf5Format()) << "the archive is no store";
  EXPECT_EQ(FormatOf(WithUserBlock(kHdf5)), &Hdf5Format());
}

TEST_F(DetectionTest, ArchiveIsNpzBeforeItIsZarr) {
  EXPECT_EQ(FormatOf(Zip({"a.npy"}), "a.zip"), &NpzFormat());
  EXPECT_EQ(FormatOf(Zip({".zgroup"}), "a.npz"), &ZarrZipFormat()) << "its first member tells";
  EXPECT_EQ(FormatOf(Zip({"a.npy", ".zgroup"}), "a.dat"), &ZarrZipFormat());
}

const std::string kEnvi = "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 1\n";
const std::string kGrads =
    "* comment\ndset ^a.dat\nxdef 1 linear 0 1\nvars 1\nv 0 99\nendvars\n";
const std::string kNrrd = "NRRD0004\ntype: int\ndimension: 1\nsizes: 1\n";

TEST_F(DetectionTest, HeadersOfOtherProgramsAreStoresByContentOrByNameAndContent) {
  EXPECT_EQ(FormatOf(kNrrd), &NrrdFormat());
  EXPECT_EQ(FormatOf("ObjectType = Image\nNDims = 2\nDimSize = 1 1\n"), &MetaImageFormat());
  EXPECT_EQ(FormatOf(Padded("SIMPLE  =                    T / FITS")), &FitsFormat());
  EXPECT_EQ(FormatOf(kEnvi, "a.hdr"), &EnviFormat());
  EXPECT_EQ(FormatOf(kGrads, "a.ctl"), &GradsFormat());
  EXPECT_EQ(FormatOf("DATA_FILE: values.raw\nDATA_SIZE: 1 1 1\n", "a.bov"), &BovFormat());
  EXPECT_EQ(FormatOf(" nDims = [   2 ];\n dimList = [\n 1, 1, 1", "a.meta"), &MitgcmFormat());
}

TEST_F(DetectionTest, FilesWithTheNamesOfSuchHeadersStayPlain) {
  EXPECT_EQ(FormatOf(kEnvi, "a.txt"), nullptr);
  EXPECT_EQ(FormatOf("dtype grib\n" + kGrads, "a.ctl"), nullptr) << "no flat file";
  EXPECT_EQ(FormatOf("dset is a word of many a control file\n", "a.ctl"), nullptr);
  for (const char* name :
       {"a.hdr", "a.ctl", "a.bov", "a.meta", "a.mhd", "a.mha", "a.fit", "a.fts"}) {
    for (const Detection detection : {Detection::kContent, Detection::kName}) {
      EXPECT_EQ(FormatOf("words of some other program, more than a few", name, detection),
                nullptr)
          << name;
      EXPECT_EQ(FormatOf("", name, detection), nullptr) << name;
    }
  }
}

TEST_F(DetectionTest, HeadersOfOtherProgramsAreKnownByNameToo) {
  EXPECT_EQ(FormatByName(kNrrd, "a.nhdr"), &NrrdFormat());
  EXPECT_EQ(FormatByName(kNrrd, "a.dat"), nullptr);
  EXPECT_EQ(FormatByName(kEnvi, "a.HDR"), &EnviFormat());
  EXPECT_EQ(FormatByName("\x1f\x8b", "a.nii.gz"), &NiftiFormat());
}

TEST_F(DetectionTest, ByNameOnlyFilesWithTheNamesOfStoresAreLookedInto) {
  EXPECT_EQ(FormatByName(Padded(kNumpy), "a.dat"), nullptr);
  EXPECT_EQ(FormatByName(NetCdf(1), "a.dat"), nullptr);
  EXPECT_EQ(FormatByName(NetCdf(1), "a.nc"), &NetCdf3Format());
  EXPECT_EQ(FormatByName(Zip({"a.npy"}), "a.zip"), nullptr);
  EXPECT_EQ(FormatByName(Zip({".zgroup"}), "a.zip"), &ZarrZipFormat());
  EXPECT_FALSE(LookIntoFile(*root_, "a.dat", Detection::kName).version);
}

TEST_F(DetectionTest, LookTellsTheVersionThatItIsOf) {
  test::WriteFile(directory_ / "a.dat", Padded("text"));
  const FileLook look = LookIntoFile(*root_, "a.dat", Detection::kContent);
  EXPECT_EQ(look.format, nullptr);
  ASSERT_TRUE(look.version);
  EXPECT_EQ(*look.version, (*root_->Stat("a.dat", Follow::kYes))->version);
}

TEST_F(DetectionTest, WhatIsNoRegularFileIsNoStoreWhateverItsName) {
  ASSERT_EQ(::mkfifo((directory_ / "x.nc").c_str(), 0600), 0);
  std::filesystem::create_directory(directory_ / "y.nc");
  std::filesystem::create_symlink("nowhere", directory_.path() / "z.nc");
  std::filesystem::create_symlink("/dev/zero", directory_.path() / "zero.nc");
  for (const char* name : {"x.nc", "y.nc", "z.nc", "zero.nc", "nothing.nc"}) {
    for (const Detection detection : {Detection::kContent, Detection::kName}) {
      const FileLook look = LookIntoFile(*root_, name, detection);
      EXPECT_EQ(look.format, nullptr) << name;
      EXPECT_FALSE(look.version) << name;
    }
  }
}

// A source whose files cannot be read any more once their beginning was.
class FailingSource final : public Source {
 public:
  explicit FailingSource(std::shared_ptr<MemoryStore> files) : files_(std::move(files)) {}
  const std::string& name() const override { return name_; }
  model::Result<std::optional<FileStatus>> Stat(std::string_view, Follow) const override {
    FileStatus status;
    status.kind = FileKind::kFile;
    return status;
  }
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view) const override {
    return model::IoError(ENOTDIR, "list");
  }
  std::shared_ptr<const Store> OpenStore(const std::string&) const override { return files_; }
  std::shared_ptr<const Store> OpenFile(const std::string&, Follow) const override {
    auto store = std::make_shared<test::LyingStore>(files_);
    store->BeforeRead([this](size_t reads) -> model::Result<void> {
      if (reads > 0 && fails_) return model::IoError(EMFILE, "file");
      return {};
    });
    return store;
  }
  bool fails_ = true;

 private:
  const std::shared_ptr<MemoryStore> files_;
  const std::string name_ = "failing";
};

TEST(FailingDetectionTest, NothingIsRememberedOfAFileThatCouldNotBeConfirmed) {
  const auto files = std::make_shared<MemoryStore>();
  files->Put("", Zip({"zarr/.zgroup", "zarr/t/.zarray"}));
  FailingSource source(files);
  const FileLook unknown = LookIntoFile(source, "file.dat", Detection::kContent);
  EXPECT_EQ(unknown.format, nullptr);
  EXPECT_EQ(unknown.version, std::nullopt);
  source.fails_ = false;
  const FileLook known = LookIntoFile(source, "file.dat", Detection::kContent);
  EXPECT_EQ(known.format, &ZarrZipFormat());
  EXPECT_NE(known.version, std::nullopt);
  files->Put("", Zip({"a.txt", "b.txt"}));
  const FileLook plain = LookIntoFile(source, "file.dat", Detection::kContent);
  EXPECT_EQ(plain.format, nullptr);
  EXPECT_NE(plain.version, std::nullopt);
}

// A directory in which looks at some files fail.
class FailingDirectory final : public Store {
 public:
  FailingDirectory(std::shared_ptr<MemoryStore> files, const std::map<std::string, int>& errors)
      : files_(std::move(files)), errors_(errors) {}
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    const auto error = errors_.find(std::string(key));
    if (error != errors_.end()) return model::IoError(error->second, "stat");
    return files_->Stat(key);
  }
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return files_->List(prefix);
  }
  std::string Describe(std::string_view key) const override { return files_->Describe(key); }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    const auto error = errors_.find("read " + std::string(key));
    if (error != errors_.end()) return model::IoError(error->second, "read");
    return files_->Read(key, options, reserve);
  }
  const std::shared_ptr<MemoryStore> files_;
  const std::map<std::string, int>& errors_;
};

class DirectorySource final : public Source {
 public:
  const std::string& name() const override { return name_; }
  model::Result<std::optional<FileStatus>> Stat(std::string_view path, Follow) const override {
    const auto error = errors_.find("stat " + std::string(path));
    if (error != errors_.end()) return model::IoError(error->second, "stat");
    FileStatus status;
    status.kind = path.starts_with("file") ? FileKind::kFile : FileKind::kDirectory;
    return status;
  }
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view) const override {
    return model::IoError(EIO, "list");
  }
  std::shared_ptr<const Store> OpenStore(const std::string&) const override {
    return std::make_shared<FailingDirectory>(files_, errors_);
  }
  std::shared_ptr<const Store> OpenFile(const std::string&, Follow) const override {
    return std::make_shared<FailingDirectory>(files_, errors_);
  }
  const std::shared_ptr<MemoryStore> files_ = std::make_shared<MemoryStore>();
  std::map<std::string, int> errors_;

 private:
  const std::string name_ = "directory";
};

TEST(FailingDetectionTest, NobodyCanTellWhatADirectoryIsThatCannotBeLookedInto) {
  DirectorySource source;
  EXPECT_THAT(DetectDirectory(source, "d"), test::IsOkAnd(nullptr));
  for (const int error : {EIO, EMFILE, ENFILE, ENOMEM, EINTR, ETIMEDOUT}) {
    source.errors_ = {{".zarray", error}};
    EXPECT_THAT(DetectDirectory(source, "d"), test::IsErrno(error));
    EXPECT_THAT(DetectStore(source, "d"), test::IsErrno(error));
  }
  source.errors_ = {{".zarray", EMFILE}};
  source.files_->Put("zarr.json", "{}");
  EXPECT_THAT(DetectDirectory(source, "d"), test::IsOkAnd(&ZarrFormat())) << "that tells";
  source.errors_.clear();
  source.files_->Remove("zarr.json");
  EXPECT_THAT(DetectDirectory(source, "d"), test::IsOkAnd(nullptr));
}

TEST(FailingDetectionTest, NobodyCanTellWhatThereIsWhereTheLookItselfFails) {
  DirectorySource source;
  source.files_->Put("zarr.json", "{}");
  for (const int error : {EIO, EMFILE, ENFILE, ENOMEM, EINTR, ETIMEDOUT}) {
    source.errors_ = {{"stat d", error}};
    EXPECT_THAT(DetectStore(source, "d"), test::IsErrno(error));
  }
  source.errors_ = {{"stat d", ESTALE}};
  EXPECT_EQ(DetectStore(source, "d").error().code(), model::ErrorCode::kStale);
  source.errors_ = {{"stat d", EACCES}};
  EXPECT_THAT(DetectStore(source, "d"), test::IsOkAnd(nullptr));
}

TEST(FailingDetectionTest, NobodyCanTellWhatAFileIsThatCannotBeRead) {
  DirectorySource source;
  source.files_->Put("", std::string("\x93NUMPY\1\0", 8) + std::string(100, ' '));
  EXPECT_THAT(DetectStore(source, "file"), test::IsOkAnd(&NpyFormat()));
  for (const int error : {EIO, EMFILE, ENOMEM}) {
    source.errors_ = {{"read ", error}};
    EXPECT_THAT(DetectStore(source, "file"), test::IsErrno(error));
    EXPECT_EQ(LookIntoFile(source, "file", Detection::kContent).format, nullptr);
    EXPECT_EQ(LookIntoFile(source, "file.npy", Detection::kContent).format, &NpyFormat());
  }
  source.errors_ = {{"read ", EACCES}};
  EXPECT_THAT(DetectStore(source, "file"), test::IsOkAnd(nullptr));
}

TEST(FailingDetectionTest, WhatCannotBeReadForOtherReasonsIsNoStore) {
  DirectorySource source;
  for (const int error : {EACCES, EPERM, ELOOP, ENXIO, ENOTDIR, ENAMETOOLONG}) {
    source.errors_ = {{".zarray", error}, {"zarr.json", error}};
    EXPECT_THAT(DetectDirectory(source, "d"), test::IsOkAnd(nullptr));
  }
}

TEST(FailingDetectionTest, ADocumentThatHasToTellAndCannotBeReadIsAPassingError) {
  DirectorySource source;
  source.files_->Put("attributes.json", R"({"n5": "2.0.0"})");
  EXPECT_THAT(DetectDirectory(source, "d"), test::IsOkAnd(&N5Format()));
  source.errors_ = {{"read attributes.json", EMFILE}};
  EXPECT_THAT(DetectDirectory(source, "d"), test::IsErrno(EMFILE));
  source.errors_ = {{"read attributes.json", EACCES}};
  EXPECT_THAT(DetectDirectory(source, "d"), test::IsOkAnd(nullptr));
}

}  // namespace
}  // namespace ndlfs::backends
