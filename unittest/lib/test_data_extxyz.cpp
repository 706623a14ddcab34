// Extended XYZ files: ASE's conventions, names of labels, damaged files.
#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"
#include "support/data_files.h"

namespace dptrain {
namespace {

using test::expect_in;
using test::message_of;
using test::Scratch;

using Numbers = std::vector<double>;
const std::string lattice = "Lattice=\"4 0 0 1 5 0 0 2 6\" ";
const std::string plain = "Properties=species:S:1:pos:R:3";

struct XyzFile {
  explicit XyzFile(const std::string &text) : path(scratch.with("a.extxyz", text)) {}
  std::shared_ptr<const DataSystem> open(const std::vector<std::string> &types = {"O", "H"}) const
  {
    DataOptions options;
    options.type_map = types;
    return open_system(path, options);
  }
  std::string error() const
  {
    const std::string message = message_of([&] {
      const auto system = open();
      for (int k = 0; k < system->num_frames(); ++k) system->read(k);
    });
    expect_in(path + ": ", message);
    return message;
  }
  Scratch scratch;
  std::string path;
};

/// The frame of one O atom with this comment line and these further columns.
WholeFrame one_atom(const std::string &comment, const std::string &columns = "")
{
  return XyzFile("1\n" + comment + "\nO 1 2 3" + columns + "\n").open()->read(0);
}

std::string one_atom_error(const std::string &comment, const std::string &columns = "")
{
  return XyzFile("1\n" + comment + "\nO 1 2 3" + columns + "\n").error();
}

TEST(Extxyz, TotalCharges)
{
  EXPECT_EQ(one_atom(plain + " total_charge=-2").charge, -2.0);
  EXPECT_EQ(one_atom(plain + " charge=1.5").charge, 1.5);
  EXPECT_EQ(one_atom(plain + " charge=1 total_charge=0").charge, 0.0);
  EXPECT_EQ(one_atom(plain + " REF_charge=1 total_charge=0").charge, 1.0);
  EXPECT_FALSE(one_atom(plain).charge);
  for (const char *other : {" charge=high", " charge=\"1 2\"", " charge=nan"})
    EXPECT_FALSE(one_atom(plain + other).charge) << other;
  expect_in("total_charge=1 2, expected one number",
            one_atom_error(plain + " total_charge=\"1 2\""));
  expect_in("given twice", one_atom_error(plain + " total_charge=1 Total_Charge=1"));
}

TEST(Extxyz, WeightsOfFrames)
{
  EXPECT_EQ(one_atom(plain + " weight=0.25").label.frame_weight, 0.25);
  EXPECT_EQ(one_atom(plain + " Weight=0").label.frame_weight, 0.0);
  EXPECT_EQ(one_atom(plain).label.frame_weight, 1.0);
  EXPECT_TRUE(one_atom(plain + " energy=-2 energy_weight=1").label.energy);
  EXPECT_FALSE(one_atom(plain + " energy=-2 energy_weight=0").label.energy);
  expect_in("energy_weight=0.5: expected 1, or 0 where the energy is no label",
            one_atom_error(plain + " energy_weight=0.5"));
  expect_in("weight=-1: how much a frame counts is a number of at least 0",
            one_atom_error(plain + " weight=-1"));
  expect_in("weight: found 'much', expected a number", one_atom_error(plain + " weight=much"));
}

TEST(Extxyz, FramesOfAnySizeWithColumnsInAnyOrder)
{
  const XyzFile file("2\n" + lattice + plain +
                     ":forces:R:3 energy=-1.5 pbc=\"T T T\"\n"
                     "O 0 0 0 0.1 0.2 0.3\n"
                     "H 1 0 0.5 -1e-1 -2.D-01 +0.3\n"
                     "1\n"
                     "Properties=force:R:3:id:I:1:pos:R:3:species:S:1 energy=2 pbc=\"F F F\"\n"
                     " 1 2 3 77 4 5 6 h \r\n"
                     "\n"
                     "3\nplain xyz without keys\nH 0 0 0\nH 0 0 1 ignored\nO 0 0 2\n\n");
  const auto system = file.open();
  ASSERT_EQ(system->num_frames(), 3);
  EXPECT_FALSE(system->same_atoms());
  EXPECT_EQ(system->natoms(0), 2);
  EXPECT_EQ(system->natoms(2), 3);
  const WholeFrame first = system->read(0);
  EXPECT_EQ(first.type, (std::vector<int>{0, 1}));
  EXPECT_EQ(first.coord, (Numbers{0, 0, 0, 1, 0, 0.5}));
  EXPECT_EQ(first.label.force, (Numbers{0.1, 0.2, 0.3, -0.1, -0.2, 0.3}));
  EXPECT_EQ(first.label.energy, -1.5);
  EXPECT_TRUE(first.periodic);
  EXPECT_EQ(Numbers(first.box.begin(), first.box.end()), (Numbers{4, 0, 0, 1, 5, 0, 0, 2, 6}));
  const WholeFrame second = system->read(1);
  EXPECT_FALSE(second.periodic);
  EXPECT_EQ(second.step, 1);
  EXPECT_EQ(second.type, (std::vector<int>{1}));
  EXPECT_EQ(second.coord, (Numbers{4, 5, 6}));
  EXPECT_EQ(second.label.force, (Numbers{1, 2, 3}));
  const WholeFrame third = system->read(2);
  EXPECT_FALSE(third.periodic);
  EXPECT_EQ(third.type, (std::vector<int>{1, 1, 0}));
  EXPECT_TRUE(third.label.force.empty() && !third.label.energy);
  expect_in("frame 3 of 3", message_of([&] { system->read(3); }));
}

TEST(Extxyz, SameAtoms)
{
  const std::string a = "2\n\nO 0 0 0\nH 0 0 1\n", b = "2\n\nH 0 0 0\nO 0 0 1\n";
  EXPECT_TRUE(XyzFile(a + a).open()->same_atoms());
  EXPECT_FALSE(XyzFile(a + b).open()->same_atoms());
  EXPECT_FALSE(XyzFile(a + "1\n\nO 0 0 0\n").open()->same_atoms());
}

TEST(Extxyz, AtomicNumbers)
{
  const XyzFile file("2\nProperties=Z:I:1:pos:R:3\n8 0 0 0\n1 0 0 1\n");
  EXPECT_EQ(file.open()->read(0).type, (std::vector<int>{0, 1}));
  EXPECT_EQ(elements_of({file.path}), (std::vector<std::string>{"O", "H"}));
}

TEST(Extxyz, NamesThatAreNoElementsMayBeInTheModel)
{
  const XyzFile file("2\n\nOW 0 0 0\nHw 0 0 1\n");
  EXPECT_EQ(file.open({"HW", "OW"})->read(0).type, (std::vector<int>{1, 0}));
}

TEST(Extxyz, WhichEnergyWins)
{
  EXPECT_EQ(one_atom("energy=1").label.energy, 1.0);
  // forces are the derivative of the free energy
  EXPECT_EQ(one_atom("energy=1 free_energy=2").label.energy, 2.0);
  EXPECT_EQ(one_atom("free_energy=2 energy=1").label.energy, 2.0);
  // what is marked as reference value comes first
  EXPECT_EQ(one_atom("free_energy=2 REF_energy=3").label.energy, 3.0);
  EXPECT_EQ(one_atom("dft_energy=4 energy=1").label.energy, 4.0);
  EXPECT_EQ(one_atom("DFT_Energy=4 DFT_free_energy=5").label.energy, 5.0);
  EXPECT_FALSE(one_atom("my_energy=4 energy_per_atom=3").label.energy);
}

TEST(Extxyz, WhichForcesWin)
{
  const std::string start = "Properties=species:S:1:pos:R:3:";
  const std::string columns = " 1 1 1 2 2 2";
  EXPECT_EQ(one_atom(start + "forces:R:3:REF_forces:R:3", columns).label.force, Numbers(3, 2.0));
  EXPECT_EQ(one_atom(start + "dft_force:R:3:force:R:3", columns).label.force, Numbers(3, 1.0));
  EXPECT_EQ(one_atom(start + "momenta:R:3:force:R:3", columns).label.force, Numbers(3, 2.0));
  EXPECT_TRUE(one_atom(start + "velo:R:3:momenta:R:3", columns).label.force.empty());
}

TEST(Extxyz, FurtherColumns)
{
  const Label label =
      one_atom(plain + ":energies:R:1:atom_pref:R:1:atom_ener_coeff:I:1", " 5 0.5 1").label;
  EXPECT_EQ(label.atom_energy, Numbers{5});
  EXPECT_EQ(label.atom_pref, Numbers{0.5});
  EXPECT_EQ(label.atom_ener_coeff, Numbers{1});
}

TEST(Extxyz, VirialAndStress)
{
  const auto numbers = [](const WholeFrame &frame) {
    return Numbers(frame.label.virial->begin(), frame.label.virial->end());
  };
  const Numbers columns{1, 4, 7, 2, 5, 8, 3, 6, 9};  // as ASE writes a matrix: column by column
  EXPECT_EQ(numbers(one_atom(lattice + "virial=\"1 2 3 4 5 6 7 8 9\"")), columns);
  EXPECT_EQ(numbers(one_atom(lattice + "virials={1 2 3 4 5 6 7 8 9}")), columns);
  EXPECT_EQ(numbers(one_atom(lattice + "REF_virial=\"_JSON [[1, 2, 3], [4, 5, 6], [7, 8, 9]]\"")),
            (Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  // volume 120; the sign is that of ASE's stress; xx yy zz yz xz xy
  const Numbers expected{-120, -720, -600, -720, -240, -480, -600, -480, -360};
  EXPECT_EQ(numbers(one_atom(lattice + "stress=\"1 2 3 4 5 6\"")), expected);
  EXPECT_EQ(numbers(one_atom(lattice + "stress=[1, 6, 5, 6, 2, 4, 5, 4, 3]")), expected);
  EXPECT_EQ(numbers(one_atom(lattice + "stress=\"9 9 9 9 9 9\" virial=\"1 2 3 4 5 6\""))[0], 1.0);
  EXPECT_EQ(numbers(one_atom(lattice + "REF_stress=\"1 2 3 4 5 6\" virial=\"9 9 9 9 9 9\"")),
            expected);
  // a left-handed cell has the same volume
  EXPECT_EQ(numbers(one_atom("Lattice=\"1 5 0 4 0 0 0 2 6\" stress=\"1 2 3 4 5 6\"")), expected);
}

TEST(Extxyz, KeysAndColumnsInAnyCase)
{
  const std::string lower = "lattice=\"4 0 0 1 5 0 0 2 6\" ",
                    upper = "LATTICE=\"4 0 0 1 5 0 0 2 6\" ";
  const WholeFrame expected =
      one_atom(lattice + plain + ":forces:R:3 energy=2 stress=\"1 2 3 4 5 6\"", " 4 5 6");
  for (const std::string &comment :
       {lower + "properties=species:S:1:pos:R:3:forces:R:3 Energy=2 STRESS=\"1 2 3 4 5 6\" PBC=\"t "
                "t T\"",
        upper +
            "PROPERTIES=SPECIES:s:1:POS:r:3:FORCES:r:3 ENERGY=2 Stress=\"1 2 3 4 5 6\" Pbc=T"}) {
    const WholeFrame frame = one_atom(comment, " 4 5 6");
    EXPECT_TRUE(frame.periodic);
    EXPECT_EQ(frame.box, expected.box);
    EXPECT_EQ(frame.label.force, (Numbers{4, 5, 6}));
    EXPECT_EQ(frame.label.energy, 2.0);
    EXPECT_EQ(frame.label.virial, expected.label.virial);
  }
  EXPECT_EQ(XyzFile("1\nproperties=z:I:1:Pos:R:3\n1 1 2 3\n").open()->read(0).type[0], 1);
}

TEST(ExtxyzDamage, KeysThatAreGivenTwiceAreNamed)
{
  const std::string lower = "lattice=\"9 0 0 0 9 0 0 0 9\" ";
  expect_in("line 2: the key Lattice is given twice (also as lattice)",
            one_atom_error(lattice + lower + plain));
  expect_in("the key Lattice is given twice: leave", one_atom_error(lattice + lattice + plain));
  expect_in("the key energy is given twice", one_atom_error(plain + " energy=1 energy=1"));
  expect_in("the key REF_energy is given twice (also as ref_Energy)",
            one_atom_error(plain + " REF_energy=1 ref_Energy=2"));
  expect_in("the key Properties is given twice (also as properties)",
            one_atom_error(plain + " properties=species:S:1:pos:R:3"));
  expect_in("the key pbc is given twice (also as PBC)",
            one_atom_error(lattice + plain + " pbc=\"T T T\" PBC=F"));
  expect_in("Properties names the columns forces twice (also as Forces)",
            one_atom_error(plain + ":forces:R:3:Forces:R:3", " 1 2 3 4 5 6"));
  // what is not read may differ in case alone
  EXPECT_EQ(one_atom(plain + " T=300 t=0.5 note=a note=b energy=1").label.energy, 1.0);
}

TEST(ExtxyzDamage, ACellUnderAnotherNameIsNoMolecule)
{
  for (const char *key : {"Latice", "Lattices", "cell", "Cell", "box", "unit_cell"})
    expect_in(std::string("no Lattice, but the key ") + key,
              one_atom_error(key + std::string("=\"4 0 0 0 5 0 0 0 6\" ") + plain));
  expect_in("no Properties, but the key Property",
            one_atom_error(lattice + "Property=species:S:1:pos:R:3:forces:R:3", " 1 2 3"));
  EXPECT_TRUE(one_atom(lattice + plain + " cell=\"4 0 0 0 5 0 0 0 6\"").periodic);
  EXPECT_FALSE(one_atom(plain + " cell=none").periodic);
}

TEST(ExtxyzDamage, ByteOrderMarksAreNamed)
{
  const std::string text = "1\n" + plain + "\nO 1 2 3\n";
  expect_in("line 1: the file begins with a byte order mark (UTF-8)",
            XyzFile("\xEF\xBB\xBF" + text).error());
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide += {c, '\0'};
  expect_in("line 1: the file begins with a byte order mark (UTF-16)", XyzFile(wide).error());
  expect_in("byte order mark (UTF-16)", XyzFile("\xFE\xFF" + std::string(1, '\0') + text).error());
}

TEST(Extxyz, WhichLabelsFramesHave)
{
  const XyzFile file("1\n" + lattice + plain +
                     ":forces:R:3 energy=1 virial=\"1 0 0 0 1 0 0 0 1\"\nO 0 0 0 1 2 3\n"
                     "1\n" +
                     plain +
                     ":vasp_forces:R:3 vasp_energy=1\nO 0 0 0 1 2 3\n"
                     "1\n" +
                     plain + ":atomic_ener:R:1 REF_energy=1\nO 0 0 0 4\n");
  const auto system = file.open();
  for (int k = 0; k < 3; ++k) {
    const Label kinds = system->label_kinds(k), label = system->read(k).label;
    EXPECT_EQ(kinds.energy.has_value(), label.energy.has_value());
    EXPECT_EQ(kinds.virial.has_value(), label.virial.has_value());
    EXPECT_EQ(kinds.force.empty(), label.force.empty());
    EXPECT_EQ(kinds.atom_energy.empty(), label.atom_energy.empty());
  }
  EXPECT_EQ(system->place(1), "frame 1 of " + file.path + ", line 4");
  EXPECT_EQ(system->unread_label("energies"), "the key vasp_energy: name it energy");
  EXPECT_EQ(system->unread_label("forces"), "the columns vasp_forces: name them forces");
  EXPECT_EQ(system->unread_label("virials"), "");
}

TEST(Extxyz, QuotedValuesAndKeysWithoutValues)
{
  const WholeFrame frame = one_atom(
      "config=\"a = 3 \\\"quoted\\\" energy=7\" flag {odd key}=5 Lattice={4 0 0 1 5 0 0 2 6} "
      "note='it energy=8' pbc=[T, T, T] empty="
      " list=[[1, 2], [3, energy=4]] energy = -3 last");
  EXPECT_EQ(frame.label.energy, -3.0);
  EXPECT_EQ(frame.box[3], 1.0);
  EXPECT_EQ(one_atom("Lattice=\"[[4, 0, 0], [1, 5, 0], [0, 2, 6]]\"").box, frame.box);
}

TEST(Extxyz, PartlyPeriodicFramesGetVacuum)
{
  const std::string atoms = "2\nLattice=\"4 0 0 1 5 0 9 9 9\" pbc=\"T T F\" "
                            "stress=\"1 0 0 0 0 0\"\nO 0 0 -3\nH 1 1 4\n";
  const WholeFrame slab = XyzFile(atoms).open()->read(0);
  EXPECT_TRUE(slab.periodic);
  // 7 Angstrom of atoms and 100 of vacuum, at right angles to the other vectors
  const Numbers expected{4, 0, 0, 1, 5, 0, 0, 0, 107};
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(slab.box[k], expected[k], 1e-12);
  // the volume is that of the cell in the file: 4 * 5 * 9
  EXPECT_EQ((*slab.label.virial)[0], -180.0);
  std::string wire = atoms;
  wire.replace(wire.find("T T F"), 5, "F T F");
  const auto box = XyzFile(wire).open()->read(0).box;
  const double b[3] = {1, 5, 0};
  for (int edge : {0, 2}) {
    double dot = 0, length = 0;
    for (int c = 0; c < 3; ++c) {
      dot += box[3 * edge + c] * b[c];
      length += box[3 * edge + c] * box[3 * edge + c];
    }
    EXPECT_NEAR(dot, 0.0, 1e-10);
    EXPECT_GT(length, 1e4);
  }
  EXPECT_EQ(box[4], 5.0);
}

TEST(ExtxyzDamage, OfTheCommentLineIsNamed)
{
  expect_in("line 2: pbc says", one_atom_error("pbc=\"T T T\""));
  expect_in("line 2: pbc: found 'T T'", one_atom_error(lattice + "pbc=\"T T\""));
  expect_in("line 2: pbc: found 'x'", one_atom_error(lattice + "pbc=\"x x x\""));
  expect_in("Lattice has 3 numbers", one_atom_error("Lattice=\"5 5 5\""));
  expect_in("Lattice: found 'x'", one_atom_error("Lattice=\"x 0 0 0 5 0 0 0 5\""));
  expect_in("line 2: the cell", one_atom_error("Lattice=\"0 0 0 0 0 0 0 0 0\""));
  expect_in("has no volume", one_atom_error("Lattice=\"1 0 0 2 0 0 0 0 5\""));
  expect_in("Lattice is nan", one_atom_error("Lattice=\"nan 0 0 0 5 0 0 0 5\""));
  expect_in("energy: found 'low'", one_atom_error("energy=low"));
  expect_in("energy=1 2, expected one number", one_atom_error("energy=\"1 2\""));
  expect_in("energy is inf", one_atom_error("energy=inf"));
  expect_in("energy is NaN", one_atom_error("energy=NaN"));
  expect_in("virial has 3 numbers", one_atom_error(lattice + "virial=\"1 2 3\""));
  expect_in("stress needs a cell", one_atom_error("stress=\"1 2 3 4 5 6\""));
  expect_in("expected NAME:TYPE:COLUMNS", one_atom_error("Properties=species:S:1:pos:R"));
  expect_in("lacks species", one_atom_error("Properties=pos:R:3:name:S:1"));
  expect_in("lacks species (or Z) or pos", one_atom_error("Properties=species:S:1"));
  expect_in("Properties: pos:R:2, expected pos:R:3",
            one_atom_error("Properties=species:S:1:pos:R:2"));
  expect_in("Properties: forces:S:3", one_atom_error(plain + ":forces:S:3", " 1 2 3"));
  expect_in("expected a type of R, I, S, L", one_atom_error(plain + ":a:X:3", " 1 2 3"));
  expect_in("expected a type of R, I, S, L", one_atom_error(plain + ":a:R:-3"));
  expect_in("expected a type of R, I, S, L", one_atom_error(plain + ":a:R:999999999999"));
}

TEST(ExtxyzDamage, OfAtomsIsNamed)
{
  const std::string forces = plain + ":forces:R:3";
  expect_in("line 3: 6 columns, expected 7 as in Properties", one_atom_error(forces, " 1 2"));
  expect_in("line 3: more than 7 columns", one_atom_error(forces, " 1 2 3 4"));
  expect_in("line 3: found '1x', expected a number", one_atom_error(forces, " 1x 2 3"));
  expect_in("line 3: nan is not a finite number", one_atom_error(forces, " nan 2 3"));
  expect_in("line 3: inf is not a finite number", one_atom_error(forces, " 1 2 inf"));
  expect_in("found '1e999'", one_atom_error(forces, " 1 2 1e999"));
  EXPECT_EQ(one_atom(forces, " 1 2 1e-999").label.force[2], 0.0);
  const auto error = [](const std::string &text) { return XyzFile(text).error(); };
  expect_in("line 3: 3 columns, expected 4: name x y z", error("1\n\nO 1 2\n"));
  expect_in("line 1: the frame has 3 atoms, but the file ends before atom 2",
            error("3\n\nO 0 0 0\n"));
  expect_in("line 1: the frame has 999999999999 atoms", error("999999999999\n\nO 0 0 0\n"));
  expect_in("line 1: found '99999999999999999999'", error("99999999999999999999\n\nO 0 0 0\n"));
  expect_in("the file ends before the line after", error("3\n"));
  expect_in("line 4: found 'H 0 0 1', expected the number of atoms",
            error("1\n\nO 0 0 0\nH 0 0 1\n"));
  expect_in("line 1: found ' vasp.6.3.0', expected the number of atoms of a frame, with which an "
            "extended XYZ file begins: convert other formats",
            error(" vasp.6.3.0\n"));
  // the first line of the next frame is taken for an atom
  expect_in("line 4: found '1', expected the name of an element",
            error("2\n\nO 0 0 0\n1\n\nO 0 0 0\n"));
  expect_in("line 1: the frame has no atoms", error("0\n\n"));
  expect_in("line 1: found '-2'", error("-2\n\nO 0 0 0\n"));
  expect_in("line 4: element Pu is not in the type map (O H)", error("2\n\nO 0 0 0\nPu 0 0 0\n"));
  expect_in("the file has no frame", error(""));
  expect_in("the file has no frame", error("\n\n"));
  expect_in("line 1: found '?\?\?binary", error("\x93\xFF\x01"
                                                "binary garbage"));
  expect_in("line 3: found '0', expected an atomic number",
            error("1\nProperties=Z:I:1:pos:R:3\n0 0 0 0\n"));
}

TEST(ExtxyzDamage, ALongLineIsNotHeldInMemory)
{
  const XyzFile file(std::string((1 << 24) + (1 << 22), 'x'));
  expect_in("line 1 is longer than", file.error());
}

TEST(Extxyz, LinesAcrossBlocksOfTheFile)
{
  // comment lines so long that lines end anywhere in the blocks of one MiB in which the file is read
  std::string text;
  for (int k = 0; k < 9; ++k)
    text += "1\nnote=" + std::string(300000 + 77777 * k, 'a' + k) + " energy=" + std::to_string(k) +
            "\nO " + std::to_string(k) + " 0 0\n";
  const auto system = XyzFile(text + "2\nlast\nO 0 0 0\nH 1 1 1").open();
  ASSERT_EQ(system->num_frames(), 10);
  for (int k = 0; k < 9; ++k) {
    EXPECT_EQ(system->read(k).label.energy, k);
    EXPECT_EQ(system->read(k).coord[0], k);
  }
  EXPECT_EQ(system->read(9).coord[5], 1.0);
}

}  // namespace
}  // namespace dptrain
