// Each rank changes the state of its own streams of C++, and uses wide characters. The argument is
// a folder with a file `words`.
#include <mpi.h>

#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <cwchar>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

struct Early {
    Early() { std::cout << std::showbase; }
};
static Early early;

static int list(const wchar_t *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = std::vwprintf(format, arguments);
    va_end(arguments);
    return count;
}

// Ranks change the streams between barriers, so that they see each other's changes if any.
static void change(int rank)
{
    if (rank == 1)
        std::cout << std::hex << std::setfill('*') << std::setprecision(2);
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout << "format " << 255 << " " << 3.14159 << " " << std::setw(4) << 9 << "\n";
    std::cout << std::dec;

    std::ostringstream kept;
    std::streambuf *before = std::cout.rdbuf();
    if (rank == 1)
        std::cout.rdbuf(kept.rdbuf());
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout << "redirected\n";
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout.rdbuf(before);
    if (rank == 1)
        std::cout << "kept " << kept.str();

    if (rank == 1)
        std::cout.setstate(std::ios::failbit);
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout << "good\n";
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout.clear();

    bool first = std::ios::sync_with_stdio(false);
    MPI_Barrier(MPI_COMM_WORLD);
    std::cout << "independent " << first << std::ios::sync_with_stdio(true);
    MPI_Barrier(MPI_COMM_WORLD);
    std::printf(" in order\n");

    bool is_tied = std::cin.tie() == &std::cout && std::cerr.tie() == &std::cout &&
                   std::wcin.tie() == &std::wcout && std::wcerr.tie() == &std::wcout &&
                   !std::cout.tie() && !std::clog.tie();
    bool flushes = std::cerr.flags() & std::wcerr.flags() & std::ios::unitbuf;
    std::cout << "tied " << is_tied << flushes << "\n";
}

static void read(const std::string &words)
{
    int number = -1;
    std::cin >> number;
    std::cout << "read " << number << std::cin.eof() << std::endl;
    MPI_Barrier(MPI_COMM_WORLD);
    std::string word;
    if (!std::freopen(words.c_str(), "r", stdin))
        std::abort();
    std::cin.clear();
    std::cin >> word;
    std::cout << "word " << word << "\n";
    if (!std::freopen(words.c_str(), "r", stdin))
        std::abort();
    wchar_t text[64] = L"";
    std::wstring wide;
    wint_t first = std::getwchar();
    std::wscanf(L"%ls", text);
    std::wcin >> wide;
    std::wcout << L"words " << wchar_t(first) << L" " << text << L" " << wide << std::endl;
}

static void write(int rank)
{
    std::wcout << L"wide \u00e9 " << rank << L'\n';
    std::wprintf(L"%ls %d %.1f %d %d %d %d %d %d\n", L"\u00e9", 1, 2.5, 3, 4, 5, 6, 7, rank);
    list(L"list %d %d\n", 8, rank);
    std::putwchar(L'p');
    std::putwc(L'\u00e9', stdout);
    std::fputwc(L' ', stdout);
    std::fputws(L"fputws\n", stdout);
    if (std::fwprintf(stdout, L"%s\n", "fwprintf") != 9 || std::fwide(stdout, 1) <= 0)
        std::abort();
    std::printf("bytes\n");
    std::fwprintf(stderr, L"error \u00e9\n");
    std::wcerr << L'\n';
    std::cerr << std::string("cerr\n");
    std::clog << std::string("clog\n");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !std::setlocale(LC_ALL, "C.UTF-8"))
        std::abort();
    MPI_Barrier(MPI_COMM_WORLD);
    std::string folder = argv[1], file = folder + "/" + std::to_string(rank);
    change(rank);
    read(folder + "/words");
    write(rank);
    // Files and a buffer that are flushed at the end.
    if (!std::freopen(file.c_str(), "w", stdout))
        std::abort();
    std::wprintf(L"wide ");
    std::wcout << L"\u00e9" << rank;
    std::filebuf *buffer = new std::filebuf;
    buffer->open(file + ".log", std::ios::out);
    std::clog.rdbuf(buffer);
    std::clog << "log " << rank;
    MPI_Finalize();
    return 0;
}
