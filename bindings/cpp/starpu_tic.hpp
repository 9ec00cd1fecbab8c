/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file starpu_tic.hpp
 * starpu_tic.h and StarPU's C interface for C++17, in this header alone.
 *
 * - namespace starpu_tic: the runtime, data with a type, status, checkpoint request;
 * - namespace ft: Fork and Shared, as in Athapascan and the papers on TIC and SEL.
 *
 * Nothing here is needed for protection: a program in C++ that uses StarPU is protected as it is.
 * Data is registered and unregistered by the thread that has made the Runtime, as the plug-in
 * demands. Errors of StarPU are std::system_error.
 */
#ifndef STARPU_TIC_HPP
#define STARPU_TIC_HPP

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <starpu.h>
#include <starpu_tic.h>

namespace starpu_tic
{

inline void check(int status, const char *call)
{
    if (status < 0)
        throw std::system_error(-status, std::generic_category(), call);
}

/** StarPU, from its start to its end: the first object of a program, as data must go before it. */
class Runtime
{
  public:
    explicit Runtime(struct starpu_conf *conf = nullptr)
    {
        check(starpu_init(conf), "starpu_init");
    }
    Runtime(const Runtime &) = delete;
    Runtime &operator=(const Runtime &) = delete;
    ~Runtime()
    {
        starpu_shutdown();
    }
    void wait_for_all()
    {
        check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    }
};

/* ---- part one: starpu_tic.h ------------------------------------------------------------------ */

/** How far this run is, at the moment when the object is made. */
class Status
{
  public:
    Status() : is_protected_(starpu_tic_get_progress(&progress_) == 0)
    {
    }
    bool is_protected() const
    {
        return is_protected_;
    }
    bool recovered() const /**< it continues an earlier run */
    {
        return progress_.recovered != 0;
    }
    bool replaying() const /**< not all tasks that are done were submitted again yet */
    {
        return progress_.replaying != 0;
    }
    std::uint64_t recovered_tasks() const
    {
        return progress_.recovered_tasks;
    }
    std::uint64_t skipped_tasks() const
    {
        return progress_.skipped_tasks;
    }

  private:
    struct starpu_tic_progress progress_ = {};
    bool is_protected_;
};

/** A checkpoint that is asked for: it is taken in the background. */
class CheckpointRequest
{
  public:
    CheckpointRequest() : accepted_(starpu_tic_checkpoint_request() == 0)
    {
    }
    bool accepted() const /**< false: this run is not protected */
    {
        return accepted_;
    }

  private:
    bool accepted_;
};

/** Names a variable of main() for commit points: starpu_tic_commit_point(), which C++ has, too. */
template <class T> void protect(const char *name, T &variable)
{
    static_assert(std::is_trivially_copyable<T>::value, "its bytes are all that is kept");
    check(starpu_tic_protect_memory(name, &variable, sizeof(variable)), "starpu_tic_protect_memory");
}

struct Version {
    int major = 0, minor = 0, patch = 0;
};

inline Version library_version()
{
    Version version;
    starpu_tic_get_version(&version.major, &version.minor, &version.patch);
    return version;
}

/* ---- part two: data with a type -------------------------------------------------------------- */

/** A registration: it goes with the object. */
class Data
{
  public:
    Data() = default;
    explicit Data(starpu_data_handle_t handle) : handle_(handle)
    {
    }
    Data(Data &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }
    Data &operator=(Data &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Data()
    {
        unregister();
    }
    starpu_data_handle_t handle() const
    {
        return handle_;
    }
    void set_name(const char *name) /**< for messages, and for who looks at recovery lines */
    {
        int status = starpu_tic_data_set_name(handle_, name);
        if (status != -ENOTCONN) /* this run is not protected */
            check(status, "starpu_tic_data_set_name");
    }
    /** No recovery line holds it, as tasks make it anew: before its first use. */
    void exclude()
    {
        int status = starpu_tic_data_exclude(handle_);
        if (status != -ENOTCONN)
            check(status, "starpu_tic_data_exclude");
    }
    void unregister() /**< waits for the tasks that use it */
    {
        if (handle_)
            starpu_data_unregister(std::exchange(handle_, nullptr));
    }
    void unregister_submit() /**< StarPU unregisters it after the last task that uses it */
    {
        if (handle_)
            starpu_data_unregister_submit(std::exchange(handle_, nullptr));
    }

  private:
    starpu_data_handle_t handle_ = nullptr;
};

/** main() may use data as long as such an object exists. */
class Access
{
  public:
    Access(const Data &data, enum starpu_data_access_mode mode) : handle_(data.handle())
    {
        check(starpu_data_acquire(handle_, mode), "starpu_data_acquire");
    }
    Access(const Access &) = delete;
    Access &operator=(const Access &) = delete;
    ~Access()
    {
        starpu_data_release(handle_);
    }

  private:
    starpu_data_handle_t handle_;
};

/** What can be saved byte for byte. */
template <class T> constexpr void require_plain()
{
    static_assert(std::is_trivially_copyable_v<T>, "data and arguments of tasks are plain memory");
    static_assert(!std::is_pointer_v<T>, "an address means nothing in a restart");
}

/** A value that has memory of main(). */
template <class T> class Variable : public Data
{
  public:
    using value_type = T;
    explicit Variable(T &value) : Data(registered(value))
    {
    }

  private:
    static starpu_data_handle_t registered(T &value)
    {
        starpu_data_handle_t handle;
        require_plain<T>();
        starpu_variable_data_register(&handle, STARPU_MAIN_RAM,
                                      reinterpret_cast<std::uintptr_t>(&value), sizeof(T));
        return handle;
    }
};

/** Elements side by side that have memory of main(): of a std::vector, say. */
template <class T> class Vector : public Data
{
  public:
    using value_type = T[];
    Vector(T *elements, std::size_t length) : Data(registered(elements, length))
    {
    }
    template <class Container>
    explicit Vector(Container &container) : Vector(container.data(), container.size())
    {
    }

  private:
    static starpu_data_handle_t registered(T *elements, std::size_t length)
    {
        starpu_data_handle_t handle;
        require_plain<T>();
        starpu_vector_data_register(&handle, STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(elements),
                                    static_cast<std::uint32_t>(length), sizeof(T));
        return handle;
    }
};

} // namespace starpu_tic

/* ---- part three: Fork and Shared ------------------------------------------------------------- */

namespace ft
{

/** A value that tasks share. With an initial value it has memory here, and its end waits for the
 * tasks; without, its content is made by tasks for tasks, and it goes after the last one. */
template <class T> class Shared
{
  public:
    using value_type = T;
    Shared()
    {
        starpu_data_handle_t handle;
        starpu_tic::require_plain<T>();
        starpu_variable_data_register(&handle, -1, 0, sizeof(T));
        data_ = starpu_tic::Data(handle);
    }
    explicit Shared(const T &value)
        : home_(std::make_unique<T>(value)), data_(starpu_tic::Variable<T>(*home_))
    {
    }
    Shared(Shared &&) noexcept = default;
    Shared &operator=(Shared &&) = delete;
    ~Shared()
    {
        if (!home_)
            data_.unregister_submit();
    }
    starpu_data_handle_t handle() const
    {
        return data_.handle();
    }
    T read() const /**< for main(): waits for the tasks that write it */
    {
        starpu_tic::Access access(data_, STARPU_R);
        return *static_cast<const T *>(starpu_data_get_local_ptr(handle()));
    }

  private:
    std::unique_ptr<T> home_; /* before data_, so that it goes after it */
    starpu_tic::Data data_;
};

/** Parameters of a task that are shared values: how it accesses them. T[] is for Vector<T>. */
template <class T, int MODE> class Parameter
{
  public:
    using value_type = T;
    static constexpr enum starpu_data_access_mode mode =
        static_cast<enum starpu_data_access_mode>(MODE);
    explicit Parameter(void *buffer)
        : pointer_(reinterpret_cast<T *>(STARPU_VARIABLE_GET_PTR(buffer)))
    {
    }
    const T &read() const
    {
        static_assert((MODE & STARPU_R) != 0, "this task does not read it");
        return *pointer_;
    }
    void write(const T &value) const
    {
        static_assert((MODE & STARPU_W) != 0, "this task does not write it");
        *pointer_ = value;
    }
    T &access() const
    {
        static_assert((MODE & STARPU_RW) == STARPU_RW, "this task does not read and write it");
        return *pointer_;
    }

  private:
    T *pointer_;
};

template <class T, int MODE> class Parameter<T[], MODE>
{
  public:
    using value_type = T[];
    using element = std::conditional_t<(MODE & STARPU_W) != 0, T, const T>;
    static constexpr enum starpu_data_access_mode mode =
        static_cast<enum starpu_data_access_mode>(MODE);
    explicit Parameter(void *buffer)
        : begin_(reinterpret_cast<element *>(STARPU_VECTOR_GET_PTR(buffer))),
          size_(STARPU_VECTOR_GET_NX(buffer))
    {
    }
    std::size_t size() const
    {
        return size_;
    }
    element &operator[](std::size_t i) const
    {
        return begin_[i];
    }
    element *begin() const
    {
        return begin_;
    }
    element *end() const
    {
        return begin_ + size_;
    }

  private:
    element *begin_;
    std::size_t size_;
};

template <class T> using Read = Parameter<T, STARPU_R>;
template <class T> using Write = Parameter<T, STARPU_W>;
template <class T> using ReadWrite = Parameter<T, STARPU_RW>;
template <class T> using Cumulative = Parameter<T, STARPU_RW | STARPU_COMMUTE>; /* in any order */

namespace detail
{

template <class P> struct is_parameter : std::false_type {
};
template <class T, int MODE> struct is_parameter<Parameter<T, MODE>> : std::true_type {
};

/** What StarPU needs to know of a codelet: a class whose operator() is the kernel. */
template <class Codelet, class... P> class Task
{
    static constexpr std::size_t buffer_count = (std::size_t(is_parameter<P>::value) + ... + 0);
    static_assert(buffer_count <= STARPU_NMAXBUFS, "StarPU was built for less data");

    /* The number of the buffer, or of the value, that parameter I is. */
    template <std::size_t I, bool OF_BUFFERS> static constexpr std::size_t number()
    {
        constexpr std::array<bool, sizeof...(P)> are = {is_parameter<P>::value...};
        std::size_t n = 0;
        for (std::size_t i = 0; i < I; i++)
            n += are[i] == OF_BUFFERS;
        return n;
    }

    template <class A> static auto place_of()
    {
        if constexpr (is_parameter<A>::value)
            return std::tuple<>();
        else
            return std::tuple<A>();
    }

    template <class A, std::size_t I, class Values>
    static auto parameter(void **buffers, Values &values)
    {
        if constexpr (is_parameter<A>::value)
            return A(buffers[number<I, true>()]);
        else
            return std::get<number<I, false>()>(values);
    }

    template <std::size_t... I>
    static void call(void **buffers, void *arguments, std::index_sequence<I...>)
    {
        auto values = std::tuple_cat(place_of<P>()...);
        if constexpr (sizeof...(P) > buffer_count)
            std::apply(
                [arguments](auto &...value) {
                    starpu_codelet_unpack_args(arguments, &value..., nullptr);
                },
                values);
        (void)buffers;
        Codelet()(parameter<P, I>(buffers, values)...);
    }

    static void kernel(void *buffers[], void *arguments)
    {
        call(buffers, arguments, std::index_sequence_for<P...>());
    }

    static starpu_codelet description()
    {
        starpu_codelet codelet = {};
        constexpr std::array<int, sizeof...(P)> modes = {mode_of<P>()...};
        std::size_t next = 0;

        codelet.cpu_funcs[0] = kernel;
        codelet.name = typeid(Codelet).name();
        codelet.nbuffers = static_cast<int>(buffer_count);
        for (int mode : modes)
            if (mode != 0)
                codelet.modes[next++] = static_cast<enum starpu_data_access_mode>(mode);
        return codelet;
    }

    template <class A> static constexpr int mode_of()
    {
        if constexpr (is_parameter<A>::value)
            return A::mode;
        else
            return 0;
    }

    /* What starpu_task_insert() gets for an argument. */
    template <class A, class Given> static auto words(const Given &given)
    {
        if constexpr (is_parameter<A>::value) {
            static_assert(std::is_same_v<typename A::value_type, typename Given::value_type>,
                          "the shared value has another type than the parameter");
            return std::make_tuple(int(A::mode), given.handle());
        } else {
            starpu_tic::require_plain<A>();
            static_assert(std::is_same_v<A, Given>, "fork() makes values of the right type");
            return std::make_tuple(int(STARPU_VALUE), &given, sizeof(A));
        }
    }

    template <class A, class Given> static decltype(auto) converted(const Given &given)
    {
        if constexpr (is_parameter<A>::value || std::is_same_v<A, Given>)
            return (given);
        else
            return A(given);
    }

    template <class... Given> static void insert(const Given &...given)
    {
        std::apply(
            [](auto... word) {
                starpu_tic::check(starpu_task_insert(&codelet, word..., 0), "starpu_task_insert");
            },
            std::tuple_cat(words<P>(given)...));
    }

    static inline starpu_codelet codelet = description();

  public:
    template <class... Given> static void fork(const Given &...given)
    {
        static_assert(sizeof...(Given) == sizeof...(P), "operator() has other parameters");
        insert(converted<P>(given)...);
    }
    static starpu_codelet *structure()
    {
        return &codelet;
    }
};

template <class Codelet, class... P>
Task<Codelet, std::decay_t<P>...> task_of(void (Codelet::*)(P...));
template <class Codelet, class... P>
Task<Codelet, std::decay_t<P>...> task_of(void (Codelet::*)(P...) const);

} // namespace detail

/** Submits a task: Fork<Codelet>(a, b, ...), where Codelet::operator() is the kernel. Its
 * parameters are Read, Write, ReadWrite or Cumulative for Shared, Variable and Vector, and plain
 * values. */
template <class Codelet, class... Given> void Fork(const Given &...given)
{
    decltype(detail::task_of(&Codelet::operator()))::fork(given...);
}

/** A restart may skip its tasks that are done, whatever they did beside their data
 * (starpu_tic_codelet_can_skip): before the first Fork. */
template <class Codelet> void can_skip()
{
    starpu_codelet *codelet = decltype(detail::task_of(&Codelet::operator()))::structure();
    starpu_tic::check(starpu_tic_codelet_can_skip(codelet), "starpu_tic_codelet_can_skip");
}

/** The contrary (starpu_tic_codelet_has_effects): before the first Fork. */
template <class Codelet> void has_effects()
{
    starpu_codelet *codelet = decltype(detail::task_of(&Codelet::operator()))::structure();
    starpu_tic::check(starpu_tic_codelet_has_effects(codelet), "starpu_tic_codelet_has_effects");
}

} // namespace ft

#endif
