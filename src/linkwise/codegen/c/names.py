"""Names for C and C++ that are neither reserved nor in the standard libraries."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

KEYWORDS = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch char
char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false far float for
fortran friend goto huge if import inline int interrupt linux long module mutable namespace near new noexcept not
not_eq nullptr operator or or_eq private protected public reflexpr register reinterpret_cast requires restrict return
short signed sizeof static static_assert static_cast struct switch synchronized template this thread_local throw true
try typedef typeid typename typeof typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor
xor_eq
"""
MATH = """
acos acosh asin asinh atan atan2 atanh cabs cacos cacosh canonicalize carg casin casinh catan catanh cbrt ccos ccosh
ceil cexp cimag clog clog10 conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh dadd ddiv dfma dmul
drem dsqrt dsub erf erfc exp exp10 exp2 expm1 fabs fadd fdim fdiv ffma finite floor fma fmax fmaximum fmaxmag fmin
fminimum fminmag fmod fmul frexp fromfp fsqrt fsub gamma getpayload hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llogb
llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nextdown nexttoward nextup pow pow10
remainder remquo rint round roundeven scalb scalbln scalbn setpayload signbit significand sin sincos sinh sqrt tan tanh
tgamma totalorder trunc ufromfp y0 y1 yn
"""  # each also with endings: PATTERNS
LIBRARY = """
abort abs aligned_alloc alloca assert atexit atof atoi atol atoll bcmp bcopy bsearch bzero calloc clearerr clock
ctermid dcgettext dgettext div double_t dprintf errno execl execle execlp execv execve execvp exit fclose fdopen feof
ferror fflush ffs ffsimax ffsl ffsll fgetc fgetpos fgets fileno float_t fopen fork fpclassify fpos64_t fpos_t fprintf
fputc fputs fread free freopen fscanf fseek fsetpos ftell fwrite getc getchar getdelim getenv getline gets gettext getw
imaxabs index isalnum isalpha isascii isblank iscanonical iscntrl isdigit iseqsig isfinite isgraph isgreater
isgreaterequal isless islessequal islessgreater islower isnormal isprint ispunct issignaling isspace issubnormal
isunordered isupper iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper
iswxdigit isxdigit iszero labs ldiv lgamma_r lgammaf_r lgammal_r llabs lldiv localeconv localtime longjmp main malloc
math_errhandling mblen mbstowcs mbtowc memchr memcmp memcpy memmove mempcpy memset mktime off_t pclose perror popen
posix_memalign printf putc putchar puts putw qsort raise rand realloc remove rename rewind rindex scanf setbuf setjmp
setlocale setvbuf signal signgam size_t snprintf sprintf srand sscanf ssize_t std stderr stdin stdout stpcpy stpncpy
strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strfmon strftime strlen strncasecmp strncat
strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul
strtoull strxfrm system tempnam time tmpfile tmpnam toascii tolower toupper towlower towupper ungetc va_arg va_copy
va_end va_list va_start vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb
"""
PATTERNS = (
    rf"({'|'.join(MATH.split())})([fl]|[fd]\d+x?)?(_r)?",  # sin, sinf, sinf32x, lgamma_r
    r"(M|FP|HUGE|MATH|SEEK)_\w+|HUGE|\w+_MAX|NAN|NULL|EOF|FILE|INFINITY|BUFSIZ|DOMAIN|SING|OVERFLOW|UNDERFLOW|[PT]LOSS",
    r"fe[a-z]+except(flag)?|fe(get|set|hold|update)(env|round)|\w+_unlocked",
)
RESERVED = re.compile("|".join([*KEYWORDS.split(), *LIBRARY.split(), *PATTERNS]))


def c_name(text: str, prefix: str = "x") -> str:
    """The text as a name in C: ASCII letters, digits and single underscores; an underscore after a reserved word."""
    plain = (
        re.sub("[\u0370-\u03ff]", greek_letter_name, unicodedata.normalize("NFKD", text))
        .encode("ascii", "ignore")
        .decode()
    )
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if not name or name[0].isdigit():
        name = f"{prefix}{name}"
    return f"{name}_" if RESERVED.fullmatch(name) else name


def greek_letter_name(greek: re.Match[str]) -> str:
    return unicodedata.name(greek[0], "").split(" ")[-1].lower()


def c_names(texts: Iterable[str], reserved: Iterable[str]) -> list[str]:
    """Names in C for all texts, different from each other and from the reserved ones."""
    used = set(reserved)
    names = []
    for text in texts:
        first = name = c_name(text)
        number = 1
        while name in used:
            number += 1
            name = f"{first}_{number}"
        used.add(name)
        names.append(name)
    return names
