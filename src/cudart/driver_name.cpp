// Nothing: libcuda.so.1 is a name for what libcudart.so.13 holds.
