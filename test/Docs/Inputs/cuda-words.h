/* What docs/custom-ops.md uses of CUDA's headers, for a compiler without them.
 */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
extern const __device__ dim3 blockIdx, blockDim, threadIdx;

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
cudaError_t cudaGetLastError();
extern "C" cudaError_t cudaConfigureCall(dim3, dim3, unsigned long,
                                         cudaStream_t);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, unsigned long,
                                                cudaStream_t);
