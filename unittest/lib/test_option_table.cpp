// The table of options: what a user writes, what the options are then, and what is said where it cannot be.

#include <gtest/gtest.h>

#include <set>

#include "dptrain/session/option_table.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

const OptionValue &value_of(const std::string &key)
{
  const OptionValue *found = nullptr;
  for (const Option &option : option_table())
    option.for_each([&](const std::string &, const OptionValue &value) {
      if (value.key == key) found = &value;
    });
  return *found;
}

std::string message(const std::map<std::string, std::string> &words)
{
  return message_of([&] {
    LearningOptions options;
    set_options(options, words);
    check(options);
  });
}

}  // namespace

TEST(OptionTable, EachNameIsThereOnce)
{
  std::set<std::string> names, keys;
  for (const Option &option : option_table()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.meaning.empty()) << option.name;
    EXPECT_FALSE(option.read_by_engine() && option.syntax.empty()) << option.name;
    option.for_each([&](const std::string &, const OptionValue &value) {
      EXPECT_TRUE(value.key.empty() || keys.insert(value.key).second) << value.key;
    });
  }
}

TEST(OptionTable, DefaultsAreAllowed)
{
  check_ranges(LearningOptions());
}

// Numbers that are not the defaults, in units with 8 per eV and 4 per Angstrom.
TEST(OptionTable, WhatIsReadIsWrittenAgain)
{
  LearningOptions options;
  options.units = {8.0, 4.0};  // forces: 2
  set_options(options, {{"mode", "active"},
                        {"every", "7"},
                        {"accuracy", "0.5"},
                        {"limit", "3"},
                        {"at_limit", "stop"},
                        {"cutout", "24"},
                        {"cutout_core", "6"},
                        {"cutout_most", "2"},
                        {"seed", "9000000000"},
                        {"ema", "0"},
                        {"optimizer", "AdamW"},
                        {"save", "a b.dp"},
                        {"save_every", "0"},
                        {"buffer", "all"},
                        {"batch", "3"}});
  EXPECT_TRUE(options.active);
  EXPECT_EQ(options.every, 7);
  EXPECT_EQ(options.accuracy.value, 0.25);
  EXPECT_FALSE(options.accuracy.is_relative);
  EXPECT_EQ(options.limit, 1.5);
  EXPECT_TRUE(options.limit_stops);
  EXPECT_EQ(options.cutout.radius, 6.0);
  EXPECT_EQ(options.cutout.core, 1.5);
  EXPECT_EQ(options.cutout.vacuum, 0.0);
  EXPECT_EQ(options.cutout.most, 2);
  EXPECT_EQ(options.training.seed, 9000000000u);
  EXPECT_EQ(options.training.ema, 0.0);
  EXPECT_EQ(options.training.optimizer, OptimizerType::adamw);
  EXPECT_EQ(options.files.save, "a b.dp");
  EXPECT_EQ(options.training.buffer, 0);
  EXPECT_EQ(options.training.batch, 3);
  const std::string text =
      common_options(options);  // in eV and Angstrom: partitions may have other units
  for (const char *line :
       {"accuracy 0.25\n", "limit 1.5 stop\n", "cutout 6 core 1.5 vacuum auto most 2\n",
        "seed 9000000000\n", "optimizer adamw\n", "save 0 a b.dp\n", "buffer all\n",
        "compress none\n", "disp\n", "train 100\n"})
    expect_in(line, "\n" + text);
  EXPECT_EQ(text.find("every 7"), std::string::npos);  // partitions may look at different steps
}

TEST(OptionTable, ChargesAreAWordOrNumbersOfElements)
{
  using Kind = NewCharges::Kind;
  for (const auto &[words, kind, shown] :
       {std::tuple("auto", Kind::search, "auto"), std::tuple("no", Kind::none, "no"),
        std::tuple("environment", Kind::environment, "environment"),
        std::tuple("Na 1 Cl -1.5", Kind::fixed, "Cl -1.5 Na 1")}) {
    LearningOptions options;
    set_options(options, {{"charges", words}});
    check_ranges(options);
    EXPECT_EQ(options.training.charges.kind, kind);
    EXPECT_EQ(options.training.charges.values.size(), kind == Kind::fixed ? 2u : 0u);
    expect_in(std::string("charges ") + shown + "\n", common_options(options));
  }
  for (const char *words :
       {"yes", "", "Na", "Na 1 Cl", "1 Na", "Na 1 Na 1", "Na inf", "no no", "auto Na 1"})
    expect_in("is not possible: use auto, no, environment, or the charge of each element",
              message({{"charges", words}}));
}

TEST(OptionTable, AnAccuracyIsAForceOrAPercentage)
{
  LearningOptions options;
  options.units = {8.0, 4.0};
  expect_in("accuracy 5%\n", common_options(options));
  set_options(options, {{"accuracy", "2.5%"}});
  EXPECT_TRUE(options.accuracy.is_relative);
  EXPECT_NEAR(options.accuracy.error(3.0), 0.075, 1e-15);
  expect_in("accuracy 2.5%\n", common_options(options));
  set_options(options, {{"accuracy", "0.5"}});
  EXPECT_EQ(options.accuracy.error(3.0), 0.25);
}

TEST(OptionTable, RulesOfParametersAreInTheText)
{
  LearningOptions options;
  options.training.rules.only = {"a", "b"};
  options.training.rules.rates = {{"c", 0.5}};
  options.training.parallel.compression = Compression::power_sgd;
  expect_in("train 100 only a b rate c 0.5\n", common_options(options));
  expect_in("compress powersgd 4\n", common_options(options));
}

TEST(OptionTable, WrongValuesAreNamed)
{
  expect_in("every 0 is not possible: use a whole number not below 1", message({{"every", "0"}}));
  expect_in("every 1e3 is not possible", message({{"every", "1e3"}}));
  expect_in("ema inf is not possible: use a number from 0 to below 1", message({{"ema", "inf"}}));
  expect_in("ema 0x1 is not possible", message({{"ema", "0x1"}}));
  expect_in("warmup 3000000000 is not possible: use a whole number not below 1, 2147483647 at most",
            message({{"warmup", "3000000000"}}));
  expect_in("seed 99999999999999999999 is not possible",
            message({{"seed", "99999999999999999999"}}));
  expect_in("cutout_core none is not possible: use a positive distance, or auto",
            message({{"mode", "active"}, {"cutout", "9"}, {"cutout_core", "none"}}));
  expect_in("unknown option of a session optimiser (did you mean optimizer?)",
            message({{"optimiser", "adam"}}));
  expect_in("unknown option of a session rewind: allowed are", message({{"rewind", "2"}}));
  for (const char *word : {"0", "-0.1", "auto", "5 %", "%", "x%", "0%", "100%", "nan%"})
    expect_in(
        "is not possible: use a positive force, or a part of the forces above 0 and below 100 "
        "%, such as 5%",
        message({{"accuracy", word}}));
  expect_in("prepare_strain has no meaning without prepare",
            message({{"mode", "active"}, {"prepare_strain", "0.01"}}));
  expect_in("use a whole number not below 0, in 'save N FILE'", message({{"save_every", "a.dp"}}));
  expect_in("audit needs 'mode active': add that, or remove audit",
            message({{"mode", "passive"}, {"audit", "5"}}));
  expect_in("the limit 0.2 is below the error bar 0.5",
            message({{"accuracy", "0.05"}, {"limit", "0.2"}}));
}

TEST(OptionTable, RangesAreToldInTheUnitsOfTheUser)
{
  LearningOptions options;
  options.units = {1.0, 4.0};
  EXPECT_EQ(value_of("prepare_displace").allowed(options.units), "a distance from 0 to 4");
  EXPECT_TRUE(value_of("prepare_displace").set(options, "3.5"));
  EXPECT_FALSE(value_of("prepare_displace").set(options, "4.5"));
}

TEST(OptionTable, OptionsThatAreSetDirectlyAreChecked)
{
  LearningOptions options;
  options.train_share = 1.5;
  expect_in("train_share 1.5 is not possible: use a number above 0 and not above 1",
            message_of([&] { check(options); }));
  options.train_share = 0.5;
  options.accuracy = {-1.0, false};
  expect_in("accuracy -1 is not possible", message_of([&] { check(options); }));
}

TEST(OptionReader, NothingIsGivenTwice)
{
  LearningOptions options;
  OptionReader reader(options);
  const Option &every = *find_option("every");
  reader.set(every, every.values[0], "every", "5");
  expect_in("every is given twice, as 5 and as 7",
            message_of([&] { reader.set(every, every.values[0], "every", "7"); }));
  const Option &train = *find_option("train");
  for (const char *pattern : {"a", "b"})
    reader.set(train, train.part("only")->values[0], train.label("only"), pattern);
  EXPECT_EQ(options.training.rules.only, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(reader.given("every"));
  EXPECT_FALSE(reader.given("warmup"));
}

TEST(OptionTable, UsageShowsWordsAndPlaceholders)
{
  EXPECT_EQ(find_option("compress")->usage(), "none, bf16 or powersgd RANK");
  EXPECT_EQ(find_option("prepare")->usage(), "N [displace A] [strain S]");
  EXPECT_EQ(find_option("limit")->usage(), "F or auto [repeat or stop]");
  EXPECT_EQ(find_option("train")->usage(),
            "STEPS [only PATTERN] [freeze PATTERN] [rate PATTERN FACTOR]");
  EXPECT_EQ(find_option("nothing"), nullptr);
}

}  // namespace dptrain::test
