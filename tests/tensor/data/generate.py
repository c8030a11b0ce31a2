"""Wrote the files of this folder (numpy 1.24); run here again only to add one."""
import numpy as np

a = (np.arange(24, dtype="<f4").reshape(2, 3, 4) - 7) / 4
bias = np.array([1, -2, 3], dtype="<i4")
np.save("f4_c.npy", a)
np.save("f4_fortran.npy", np.asfortranarray(a))
np.save("f8_big_endian.npy", np.array([[1.5, -2.25], [1e300, np.inf]], dtype=">f8"))
np.save("i2_big_endian_fortran.npy", np.asfortranarray(np.arange(-3, 3, dtype=">i2").reshape(2, 3)))
np.save("b1.npy", np.array([True, False, True]))
np.save("f2.npy", np.array([1.0, -0.5, 6e-8, 65504, np.inf], dtype="<f2"))
np.save("i8_scalar.npy", np.array(-9007199254740993, dtype="<i8"))
np.save("u8_wide.npy", np.array([2**64 - 1, 2**63 + 1], dtype="<u8"))
np.save("empty.npy", np.zeros((0, 3), dtype="<i4"))
np.save("complex.npy", np.array([1 + 2j]))
np.save("structured.npy", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f4")]))
for version in (2, 3):
    with open(f"version{version}.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(5, dtype="u1"), version=(version, 0))
np.savez("stored.npz", weights=a, bias=bias)
np.savez_compressed("deflated.npz", weights=a, bias=bias, zeros=np.zeros((64, 64), dtype="<f4"))
