"""What decides whether a random program is right, on cases that are known."""

import math
import unittest

import arrays
import program_text
import reduction
import reference
from program_text import Port

TEXT = """// a comment
#map = affine_map<(d0) -> (d0)>
#mesh = #tp.mesh<"dp" = 2, "tp" = 3, devices = [0, 2, 4, 1, 3, 5]>
module attributes {tp.mesh = #mesh} {
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func @main(%a: tensor<4xf32> {tp.name = "a_max3", tp.kind = "user_input", tp.pin = {dp = #tp.placement<shard<0>>, tp = #tp.placement<replicate>}}, %b: tensor<2x3xi1>) -> (tensor<4xf32> {tp.name = "r0_near1.0e-03"}, tensor<f64>) {
    %v1 = tp.constrain %a on "tp" of #mesh to shard<0> view [4] at "m" "output" : tensor<4xf32>
    %v9 = tp.constrain %v1 on "dp" of #mesh to shard<0> view [4] at "m" "output" : tensor<4xf32>
    %v10 = func.call @f(%v9) : (tensor<4xf32>) -> tensor<4xf32>
    %v2 = arith.constant dense<1.0> : tensor<f64>
    return %v10, %v2 : tensor<4xf32>, tensor<f64>
  }
}
"""


def port(name, shape=(2, 3), element="f32"):
    return Port(name, "", shape, element)


def difference(name, expected, got, element="f32"):
    return arrays.difference(port(name, (len(expected),), element),
                             arrays.bytes_of(element, expected), arrays.bytes_of(element, got))


class Texts(unittest.TestCase):
    def test_ports(self):
        arguments, results = program_text.ports(TEXT)
        self.assertEqual([(p.name, p.shape, p.element) for p in arguments],
                         [("a_max3", (4,), "f32"), ("arg1", (2, 3), "i1")])
        self.assertEqual([(p.name, p.shape, p.element) for p in results],
                         [("r0_near1.0e-03", (4,), "f32"), ("result1", (), "f64")])

    def test_ranks(self):
        self.assertEqual(program_text.number_of_ranks(TEXT), 6)

    def test_without_pins(self):
        text = program_text.without_pins(TEXT)
        self.assertNotIn("tp.", text)
        self.assertIn("func.call @f(%a)", text)
        self.assertIn("return %v10, %v2", text)
        self.assertIn("func.func @main(%a: tensor<4xf32>, %b: tensor<2x3xi1>) -> "
                      "(tensor<4xf32>, tensor<f64>)", text)

    def test_without_placements(self):
        text = program_text.without_placements(TEXT)
        for gone in ("mesh", "placement", "constrain"):
            self.assertNotIn(gone, text)
        self.assertIn('tp.name = "a_max3"', text)

    def test_renamed(self):
        text = reference.renamed(TEXT, 7)
        self.assertIn("@p7_main(", text)
        self.assertIn("func.call @p7_f(%a)", text)
        self.assertIn("#p7_map = affine_map", text)
        self.assertIn("attributes {llvm.emit_c_interface} {", text)

    def test_with_size(self):
        self.assertEqual(
            reduction.with_size("tensor<4x14x4xf32> view [4, 14] output_shape [4, 2] c4 [4]",
                                4, 2),
            "tensor<2x14x2xf32> view [2, 14] output_shape [2, 2] c4 [4]")


class Numbers(unittest.TestCase):
    def test_formats(self):
        for element in arrays.FORMATS:
            numbers = [0, 1, 1] if element == "i1" else [0, 3, -2]
            if element.startswith("u"):
                numbers = [0, 3, 2 ** int(element[2:]) - 1]
            self.assertEqual(list(arrays.numbers_of(
                element, arrays.bytes_of(element, numbers))), numbers)

    def test_draw(self):
        self.assertEqual(arrays.draw(port("a"), 1), arrays.draw(port("a"), 1))
        self.assertNotEqual(arrays.draw(port("a"), 1), arrays.draw(port("b"), 1))
        self.assertLessEqual(max(arrays.draw(port("a_lt4", (99,), "i64"), 1)), 3)
        self.assertEqual(max(arrays.draw(port("a_max9", (999,)), 1)), 9)

    def test_exact(self):
        self.assertIsNone(difference("r0", [1, 2], [1, 2]))
        self.assertIn("r0[1]: expected 2.0, got 2.5 (1 of 2 differ)",
                      difference("r0", [1, 2], [1, 2.5]))
        self.assertIsNone(difference("r0", [0.0, math.nan], [-0.0, math.nan]))
        self.assertIsNotNone(difference("r0", [1, 2], [1]))

    def test_near(self):
        self.assertIsNone(difference("r0_near1.0e-03", [1, 2], [1, 2.001]))
        self.assertIsNotNone(difference("r0_near1.0e-03", [1, 2], [1, 2.1]))
        self.assertIsNotNone(difference("r0_near1.0e-03", [1, 2], [1, math.nan]))

    def test_special(self):
        self.assertIsNone(difference("r0_special", [math.inf, 1], [math.nan, 1]))
        self.assertIsNotNone(difference("r0_special", [math.nan, 1], [3, 1]))
        self.assertIsNotNone(difference("r0_special", [math.inf, 1], [-math.inf, 1]))

    def test_bits(self):
        self.assertIsNone(difference("r0_bits", [-0.0, math.nan], [-0.0, math.nan]))
        self.assertIsNotNone(difference("r0_bits", [-0.0], [0.0]))
        self.assertIsNotNone(difference("r0_bits", [1.0], [math.nan]))

    def test_edges(self):
        for element in ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1", "index"):
            edges = arrays.edges_of(element)
            again = arrays.numbers_of(element, arrays.bytes_of(element, edges))
            self.assertEqual([str(float(x)) for x in edges], [str(float(x)) for x in again])


if __name__ == "__main__":
    unittest.main()
