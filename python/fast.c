/* The quick way for torch tensors: products and attention of plain CUDA tensors, from attributes to the launch, without
   a line of Python between. What is not plain is answered with NotImplemented, and Python takes the long way. One
   binary for every Python from 3.9 on. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdio.h>
#include <warpmill/warpmill.h>

enum { most_dimensions = 4, most_devices = 16 };

/* What torch told, once (use_torch). */
static PyObject *tensor_type, *parameter_type;
static PyObject *grad_enabled, *autocast_enabled, *current_stream, *empty_like;
static PyObject *bf16, *f16, *f32;
static char device_prefix[32]; /* "cuda:"; before a tensor's device number it is a device's id */
/* Names of attributes. */
static PyObject *n_requires_grad, *n_shape, *n_stride, *n_dtype, *n_get_device, *n_data_ptr, *n_new_empty;

static wm_device* devices[most_devices];

typedef struct {
  wm_view view;
  int64_t shape[most_dimensions], strides[most_dimensions];
  PyObject* dtype; /* borrowed: types are never freed */
  long device;
} tensor;

typedef enum { failed = -1, not_plain = 0, plain = 1 } answer;

static PyObject* refuse(wm_status status) {
  PyObject* type = status == WM_INVALID_ARGUMENT || status == WM_LAUNCH ? PyExc_ValueError
                   : status == WM_UNSUPPORTED                           ? PyExc_NotImplementedError
                                                                        : PyExc_RuntimeError;
  PyErr_SetString(type, wm_error_text());
  return NULL;
}

static PyObject* long_way(void) {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

static answer read_sizes(PyObject* tuple, Py_ssize_t count, int64_t* sizes) {
  if (tuple == NULL) return failed;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GetItem(tuple, i);
    sizes[i] = item ? PyLong_AsLongLong(item) : -1;
  }
  Py_DECREF(tuple);
  return PyErr_Occurred() ? failed : plain;
}

static answer read_number(PyObject* number, long long* value) {
  if (number == NULL) return failed;
  *value = PyLong_AsLongLong(number);
  Py_DECREF(number);
  return *value == -1 && PyErr_Occurred() ? failed : plain;
}

/* Whether `flag()` says True. */
static answer is_set(PyObject* flag) {
  PyObject* result = PyObject_CallObject(flag, NULL);
  if (result == NULL) return failed;
  Py_DECREF(result);
  return result == Py_True ? plain : not_plain;
}

/* A tensor that has no strides or no memory says so by a RuntimeError; the long way has words for it. */
static answer not_strided(void) {
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return failed;
  PyErr_Clear();
  return not_plain;
}

static answer describe(PyObject* object, tensor* t) {
  PyObject* type = (PyObject*)Py_TYPE(object);
  if (type != tensor_type && type != parameter_type) return not_plain;
  long long number;
  if (read_number(PyObject_CallMethodObjArgs(object, n_get_device, NULL), &number) == failed) return failed;
  if (number < 0 || number >= most_devices) return not_plain;
  t->device = (long)number;
  PyObject* requires_grad = PyObject_GetAttr(object, n_requires_grad);
  if (requires_grad == NULL) return failed;
  Py_DECREF(requires_grad);
  if (requires_grad == Py_True) {
    const answer enabled = is_set(grad_enabled);
    if (enabled != not_plain) return enabled == failed ? failed : not_plain;
  }
  t->dtype = PyObject_GetAttr(object, n_dtype);
  if (t->dtype == NULL) return failed;
  Py_DECREF(t->dtype);
  if (t->dtype == bf16)
    t->view.dtype = WM_BF16;
  else if (t->dtype == f16)
    t->view.dtype = WM_F16;
  else if (t->dtype == f32)
    t->view.dtype = WM_F32;
  else
    return not_plain;
  PyObject* shape = PyObject_GetAttr(object, n_shape);
  const Py_ssize_t rank = shape ? PyTuple_Size(shape) : -1;
  if (rank < 0 || rank > most_dimensions) {
    Py_XDECREF(shape);
    return rank < 0 ? failed : not_plain;
  }
  if (read_sizes(shape, rank, t->shape) == failed) return failed;
  if (read_sizes(PyObject_CallMethodObjArgs(object, n_stride, NULL), rank, t->strides) == failed) return not_strided();
  if (read_number(PyObject_CallMethodObjArgs(object, n_data_ptr, NULL), &number) == failed) return not_strided();
  if (number == 0) return not_plain; /* nothing in it */
  t->view.size = sizeof t->view;
  t->view.address = (uint64_t)number;
  t->view.rank = (uint32_t)rank;
  t->view.shape = t->shape;
  t->view.strides = t->strides;
  return plain;
}

/* A new matrix of `columns` columns, otherwise like `a`: only its address is news. */
static answer describe_dense(PyObject* object, tensor* t, const tensor* a, int64_t columns) {
  long long address;
  if (read_number(PyObject_CallMethodObjArgs(object, n_data_ptr, NULL), &address) == failed) return failed;
  if (address == 0) return not_plain;
  t->shape[0] = a->shape[0];
  t->shape[1] = columns;
  t->view = (wm_view){sizeof t->view, (uint64_t)address, a->view.dtype, 2, t->shape, NULL};
  return plain;
}

/* The caller's current stream of a device, to be freed after the launch. */
static wm_stream* stream_of(long device) {
  PyObject* index = PyLong_FromLong(device);
  if (index == NULL) return NULL;
  PyObject* native_number = PyObject_CallFunctionObjArgs(current_stream, index, NULL);
  Py_DECREF(index);
  if (native_number == NULL) return NULL;
  void* native = PyLong_AsVoidPtr(native_number);
  Py_DECREF(native_number);
  if (native == NULL && PyErr_Occurred()) return NULL;
  wm_status status = WM_OK;
  if (devices[device] == NULL) {
    char id[64];
    snprintf(id, sizeof id, "%s%ld", device_prefix, device);
    status = wm_device_open(id, &devices[device]);
  }
  wm_stream* stream = NULL;
  if (status == WM_OK) status = wm_stream_wrap(devices[device], native, &stream);
  if (status != WM_OK) refuse(status);
  return stream;
}

/* Whether autocast would change what is computed: the long way asks it. */
static answer autocast_is_off(void) {
  const answer on = is_set(autocast_enabled);
  return on == failed ? failed : on == plain ? not_plain : plain;
}

/* The result that was filled, or why it was not. */
static PyObject* outcome(PyObject* result, answer result_is, int launched, wm_status status) {
  if (launched && status == WM_OK) return result;
  Py_DECREF(result);
  if (result_is == not_plain) return long_way();
  return launched ? refuse(status) : NULL;
}

static PyObject* matmul(PyObject* self, PyObject* arguments) {
  (void)self;
  PyObject *a_object, *b_object, *bias_object, *out;
  const char* activation;
  if (!PyArg_ParseTuple(arguments, "OOOzO", &a_object, &b_object, &bias_object, &activation, &out)) return NULL;
  tensor a, b, bias, d;
  answer all = describe(a_object, &a);
  if (all == plain) all = describe(b_object, &b);
  if (all == plain && bias_object != Py_None) all = describe(bias_object, &bias);
  if (all == plain && out != Py_None) all = describe(out, &d);
  if (all == plain) all = autocast_is_off();
  if (all == plain &&
      (a.view.rank != 2 || b.view.rank != 2 || a.dtype != b.dtype || a.device != b.device || a.shape[1] != b.shape[0] ||
       (bias_object != Py_None && (bias.device != a.device || bias.view.rank != 1)) ||
       (out != Py_None &&
        (d.device != a.device || d.view.rank != 2 || d.shape[0] != a.shape[0] || d.shape[1] != b.shape[1]))))
    all = not_plain; /* the long way says what is wrong, or serves it */
  if (all != plain) return all == failed ? NULL : long_way();
  if (out != Py_None) {
    Py_INCREF(out);
  } else {
    PyObject* shape = Py_BuildValue("(LL)", (long long)a.shape[0], (long long)b.shape[1]);
    if (shape == NULL) return NULL;
    out = PyObject_CallMethodObjArgs(a_object, n_new_empty, shape, NULL);
    Py_DECREF(shape);
    if (out == NULL) return NULL;
    all = describe_dense(out, &d, &a, b.shape[1]);
  }
  wm_stream* stream = all == plain ? stream_of(a.device) : NULL;
  wm_status status = WM_OK;
  if (stream != NULL) {
    wm_gemm_request request = {.size = sizeof request, .a = &a.view, .b = &b.view, .d = &d.view};
    if (bias_object != Py_None) request.column_bias = &bias.view;
    request.activation = activation;
    Py_BEGIN_ALLOW_THREADS status = wm_gemm(stream, &request, NULL);
    wm_stream_free(stream);
    Py_END_ALLOW_THREADS
  }
  return outcome(out, all, stream != NULL, status);
}

static PyObject* attention(PyObject* self, PyObject* arguments) {
  (void)self;
  PyObject *q_object, *k_object, *v_object;
  int causal;
  if (!PyArg_ParseTuple(arguments, "OOOp", &q_object, &k_object, &v_object, &causal)) return NULL;
  tensor q, k, v, out;
  answer all = describe(q_object, &q);
  if (all == plain) all = describe(k_object, &k);
  if (all == plain) all = describe(v_object, &v);
  if (all == plain) all = autocast_is_off();
  if (all == plain && (q.view.rank != 4 || v.view.rank != 4 || q.shape[3] != v.shape[3] || q.device != k.device ||
                       q.device != v.device || q.view.dtype == WM_E4M3))  // whose output is of another type
    all = not_plain;
  if (all != plain) return all == failed ? NULL : long_way();
  PyObject* result = PyObject_CallFunctionObjArgs(empty_like, q_object, NULL);
  if (result == NULL) return NULL;
  all = describe(result, &out);
  wm_stream* stream = all == plain ? stream_of(q.device) : NULL;
  wm_status status = WM_OK;
  if (stream != NULL) {
    const int64_t none = 0;
    const wm_attention_request request = {.size = sizeof request,
                                          .q = &q.view,
                                          .k = &k.view,
                                          .v = &v.view,
                                          .out = &out.view,
                                          .right = causal ? &none : NULL,
                                          .from_beginnings = 1};
    Py_BEGIN_ALLOW_THREADS status = wm_attention(stream, &request, NULL);
    wm_stream_free(stream);
    Py_END_ALLOW_THREADS
  }
  return outcome(result, all, stream != NULL, status);
}

static PyObject* use_torch(PyObject* self, PyObject* arguments) {
  (void)self;
  const char* prefix;
  if (!PyArg_ParseTuple(arguments, "OOOOOOOOOs", &tensor_type, &parameter_type, &grad_enabled, &autocast_enabled,
                        &current_stream, &empty_like, &bf16, &f16, &f32, &prefix))
    return NULL;
  snprintf(device_prefix, sizeof device_prefix, "%s", prefix);
  PyObject* kept[] = {
      tensor_type, parameter_type, grad_enabled, autocast_enabled, current_stream, empty_like, bf16, f16, f32};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; ++i) Py_INCREF(kept[i]); /* as long as the process lives */
  Py_INCREF(Py_None);
  return Py_None;
}

static PyMethodDef functions[] = {
    {"matmul", matmul, METH_VARARGS, "matmul(a, b, bias, activation, out): the product of plain CUDA tensors"},
    {"attention", attention, METH_VARARGS, "attention(q, k, v, causal): of plain CUDA tensors"},
    {"use_torch", use_torch, METH_VARARGS, "what torch has: types and functions"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "warpmill._fast", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast(void) {
  n_requires_grad = PyUnicode_InternFromString("requires_grad");
  n_shape = PyUnicode_InternFromString("shape");
  n_stride = PyUnicode_InternFromString("stride");
  n_dtype = PyUnicode_InternFromString("dtype");
  n_get_device = PyUnicode_InternFromString("get_device");
  n_data_ptr = PyUnicode_InternFromString("data_ptr");
  n_new_empty = PyUnicode_InternFromString("new_empty");
  if (PyErr_Occurred()) return NULL;
  return PyModule_Create(&definition);
}
