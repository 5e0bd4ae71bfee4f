r"""Rules of the PTB tokenizer: PTBTokenizer of CoreNLP 3.4.1 with lowercasing and tokenized line ends.

At each position of a text the rule with the longest match determines the token. If several matches are equally long,
the first rule wins. Text that a pattern matches after its first group counts for the length but is not part of the
token.

Patterns match representative characters (`vlgauge.inputs.text.ptb.characters`). Literal letters match in both
cases, with Python's case folding ("\u0130" and "\u0131" for "i", "\u017f" for "s", "\u212a" for "k"). Letters in
brackets match in the case shown only. Alternatives and repetitions are ordered so that the first match is the longest.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from operator import methodcaller

from vlgauge.inputs.text.ptb.characters import DIGIT, LETTER, LISTS, MARK, SYMBOL

_FOLDED = "\u0130\u0131\u017f\u212a"  # letters beyond ASCII that fold with an ASCII letter
_LETTERS = f"A-Za-z{_FOLDED}{LETTER}"
_DIGITS = f"0-9{DIGIT}"
_DIGIT = f"[{_DIGITS}]"
_SPACES = "\\ \\t\\xa0\\u2000-\\u200a\\u3000"
SPACE = f"[{_SPACES}]"
SPACE_OR_LINE_END = f"(?:{SPACE}|\\r?\\n|[\\r\\u2028\\u2029\\x0b\\x0c\\x85])"
_ACCENTED = "&[aeiouAEIOU](?i:acute|grave|uml);"  # an entity such as &eacute;
_OF_WORD = f"(?:[{_LETTERS}{MARK}\\xad]|{_ACCENTED})"
OF_WORD_OR_NUMBER = f"(?:[{_LETTERS}{_DIGITS}{MARK}\\xad]|{_ACCENTED})"
_WORD_STARTS = f"{_LETTERS}{MARK}\\xad&"
# Atomic, because no rule needs a part of a word, and backtracking would take quadratic time.
_WORD = f"(?>{_OF_WORD}{OF_WORD_OR_NUMBER}*+(?:[.!?]{_OF_WORD}{OF_WORD_OR_NUMBER}*+)*+)"
_APOSTROPHE = "(?:['\\x92\\u2019]|(?i:&apos;))"
_APOSTROPHE_STARTS = "'\\x92\\u2019&"
_ANY_APOSTROPHE = "(?:['\\x92\\u2019`\\x91\\u2018\\u201b]|(?i:&apos;))"
_CLITIC = f"{_APOSTROPHE}(?:[msdMSD]|(?i:re|ve|ll))"
_NT = f"(?i:n){_ANY_APOSTROPHE}(?i:t)"
_SEPARATOR = "[.:,\\xad\\u066b\\u066c]"
_NUMBER = f"(?:{_DIGIT}+(?:{_SEPARATOR}{_DIGIT}+)*|(?:{_SEPARATOR}{_DIGIT}+)+)"
_COMMA = "[,;:\\u3001]"
_NAME = "[A-Za-z][A-Za-z0-9_:.-]*+"
_TAG = (
    "<(?:[!?][A-Za-z-][^>\\r\\n]*+>"
    f"|{_NAME}(?: ++{_NAME}(?: *+= *+(?:'[^']*+'|\"[^\"]*+\"))?+)*+ *+/?+ *+>"
    f"|/{_NAME} *+>)"
)
ENDS = ' \\t\\n\\f\\r"<>|'  # terminators of a URL, a site or an address
_US = "(?i:(?:Canada|Sino|Korean|EU|Japan|non)-U\\.S|U\\.S\\.-(?:U\\.S\\.S\\.R|U\\.K))"
_US_OF_ASCII = _US.replace("(?i:", "(?ai:")
_INITIALS = f"(?:{_US}|[A-Za-z](?:\\.[A-Za-z])*)"
_SIDE = "[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}"
# The first alternative adds only matches with a letter beyond ASCII. For other texts it would hide longer matches.
_HYPHENATED = (
    f"[A-Za-z0-9][A-Za-z0-9.,\\xad]*(?:-(?:(?!{_US_OF_ASCII}){_US}\\.|[A-Za-z](?:\\.[A-Za-z])+\\.|[A-Za-z0-9\\xad]+))+"
)
_PART = f"(?:[dDoOlL]{_ANY_APOSTROPHE}[{_LETTERS}{_DIGITS}])?[{_LETTERS}{_DIGITS}]+"
_JOINED = f"{_PART}(?:[-_\\u058a\\u2010\\u2011]{_PART})*"
_CAPITALS = "[A-Z]+(?:(?:(?i:&amp;)|[+&])[A-Z]+)+"
OF_SITE = f"[^{ENDS}.!?(){{}},`'$,-_]"  # the range from "," to "_" excludes uppercase letters and digits
OF_WWW = f"[^{ENDS}.!?(){{}},]"
OF_ADDRESS = f"[^{ENDS}()\\xa0{{}}]"
_END_OF_ADDRESS = f"[^{ENDS}(){{}}.\\xa0]"
_PATH = f"/[^{ENDS}()]+[^{ENDS}.!?(){{}},-]"
_WWW = f"(?i:www)\\.(?:{OF_WWW}+\\.)+[a-zA-Z]{{2,4}}"
TOP_LEVEL = "(?i:com|net|org|edu)"
_SITE = f"(?:{OF_SITE}+\\.)+{TOP_LEVEL}"
AFTER_FILE = f"(?:{SPACE_OR_LINE_END}|[.?!,])"


def _in_any_case(words: str) -> str:
    return f"(?i:{'|'.join(map(re.escape, LISTS[words]))})"


def _with_capital(words: str) -> str:
    """Return a pattern of words that matches the first letter in its case and the others in any case."""
    return f"(?:{'|'.join(f'{word[0]}(?i:{re.escape(word[1:])})' for word in LISTS[words])})"


EXTENSION = _in_any_case("file_endings")
# Lowercased. A period after any other word of two or more Latin letters is never part of the word. The list of an
# abbreviation matters, because it determines the length of the match.
_OF_ABBREVIATIONS = ("before_two", "before_two_capital", "titles", "before_number", "other_abbreviations")
ABBREVIATIONS = frozenset(word.lower() for name in _OF_ABBREVIATIONS for word in LISTS[name])

_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-"}
_ROUND = str.maketrans({"(": "-lrb-", ")": "-rrb-"})
_QUOTES = str.maketrans(
    dict.fromkeys("\x91\u2018\u201b\u2039", "`")
    | dict.fromkeys("\x92\u2019\u203a", "'")
    | dict.fromkeys("\x93\u201c\xab", "``")
    | dict.fromkeys('"\x94\u201d\xbb', "''")
)
_FRACTIONS = {"\xbc": "1/4", "\xbd": "1/2", "\xbe": "3/4", "\u2153": "1/3", "\u2154": "2/3"}
_CURRENCIES = {"\xa2": "cents", "\xa3": "#", "\xa4": "$", "\u20ac": "$", "\u20a0": "$", "\x80": "$"}
_AMPERSAND = re.compile("&amp;", re.IGNORECASE)


_without_soft_hyphens = methodcaller("replace", "\xad", "")
_with_hard_spaces = methodcaller("replace", " ", "\xa0")
_with_ampersands = partial(_AMPERSAND.sub, "&")


def _with_round_brackets(found: str) -> str:
    return found.replace(" ", "\xa0").translate(_ROUND)


def _with_plain_quotes(found: str) -> str:
    # Keep entities in uppercase, as the original does.
    return found.replace("&apos;", "'").replace("&quot;", "''").translate(_QUOTES)


def _nothing(found: str) -> str:
    return ""


@dataclass(frozen=True)
class Rule:
    """Rule of the tokenizer. Its pattern is compiled when it is first tried.

    Attributes:
        name: Name for tests and for `vlgauge.inputs.text.ptb.far_rules`.
        starts: Content of a character class: the characters with which a match can begin.
        pattern: Pattern of the token, or of a group with the token and of the text that must follow it. Empty for a
            single character of `starts`.
        printed: Function from the matched text to the token. None if they are equal. Lowercasing comes later.
        cut: Number of characters at the end that are scanned again as separate tokens.
    """

    name: str
    starts: str
    pattern: str = ""
    printed: Callable[[str], str] | None = None
    cut: int = 0

    @cached_property
    def match(self) -> Callable[[str, int], re.Match[str] | None]:
        """Method ``match`` of the compiled pattern. It returns None if the pattern does not match at the position."""
        return re.compile(self.pattern or f"[{self.starts}]", re.DOTALL).match


RULES = (
    Rule("c++", "Cc", "(?i:c)\\+\\+"),
    Rule("c#", "CcFf", "(?i:[cf])#"),
    Rule("fused", "Cc", "(?i:cannot)", cut=3),
    Rule("fused", "'", "'(?i:twas)", cut=3),
    Rule("fused", "'", "'(?i:tis)", cut=2),
    Rule("fused", "GgLlWw", "(?i:gonna|gotta|lemme|gimme|wanna)", cut=2),
    Rule("tag", "<", _TAG, _with_hard_spaces),
    Rule("dash", "&\\x96\\x97\\u2013-\\u2015", "(?i:&(?:MD|mdash|ndash);)|[\\x96\\x97\\u2013-\\u2015]", _nothing),
    Rule("entity-amp", "&", "(?i:&amp;)", lambda found: "&"),
    Rule("entity", "&", "&(?:(?i:HT|TL|UR|LR|QC|QL|QR|odq|cdq)|#[0-9]+);"),
    Rule("word+clitic", _WORD_STARTS, f"({_WORD}){_CLITIC}", _without_soft_hyphens),
    Rule("word+nt", "A-Za-z\\xad", f"([A-Za-z\\xad]*[A-MO-Za-mo-z]\\xad*){_NT}", _without_soft_hyphens),
    Rule("word", _WORD_STARTS, _WORD, _without_soft_hyphens),
    Rule("apos-n", _APOSTROPHE_STARTS, f"{_APOSTROPHE}(?i:n){_APOSTROPHE}?"),
    Rule("apos-l", "lLdDjJ", f"[lLdDjJ]{_APOSTROPHE}"),
    Rule("apos-ol", "DdSsOo\\u017f", f"(?i:Dunkin|somethin|ol){_APOSTROPHE}"),
    Rule("apos-em", _APOSTROPHE_STARTS, f"{_APOSTROPHE}(?i:em)"),
    Rule("apos-name", "A-HJ-XZn", f"[A-HJ-XZn]{_ANY_APOSTROPHE}[{_LETTERS}]{{2,}}"),
    Rule("apos-90s", _APOSTROPHE_STARTS, f"{_APOSTROPHE}[2-9]0(?i:s)"),
    Rule("apos-til", _APOSTROPHE_STARTS, f"{_APOSTROPHE}(?i:till?|cause)"),
    Rule("apos-vowel", _LETTERS, f"[{_LETTERS}]+[aeiouyAEIOUY]{_ANY_APOSTROPHE}[aeiouA-Z][{_LETTERS}]*"),
    Rule("apos-list", "CcNnEeSsLl\\u017f", "(?i:cont'd\\.?|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l)"),
    Rule("apos-o", "Oo", f"(?i:o){_ANY_APOSTROPHE}(?i:o)"),
    Rule("apos-y", "Yy", f"((?i:y){_APOSTROPHE})[{_LETTERS}]"),
    Rule("url", "Hh", f"(?i:https?)://[^{ENDS}(){{}}]+[^{ENDS}.!?(){{}},-]"),
    Rule("site-www", "Ww", _WWW),
    Rule("site-www", "Ww", _WWW + _PATH),
    Rule("site", OF_SITE[1:-1], _SITE),
    Rule("site", OF_SITE[1:-1], _SITE + _PATH),
    Rule(
        "mail",
        "<&a-zA-Z0-9",
        f"(?:(?i:&lt;)|<)?[a-zA-Z0-9]{OF_ADDRESS}*@(?:{_END_OF_ADDRESS}+\\.)*{_END_OF_ADDRESS}+>?",
    ),
    Rule("at-name", "@", "@[a-zA-Z_][a-zA-Z_0-9]*"),
    Rule("hashtag", "#", f"#{_OF_WORD}+"),
    Rule("clitic", _APOSTROPHE_STARTS, f"({_CLITIC})[^A-Za-z]", _with_plain_quotes),
    Rule("nt", "Nn", f"({_NT})[^A-Za-z]", _with_plain_quotes),
    Rule("date", _DIGITS, f"{_DIGIT}{{1,2}}[-/]{_DIGIT}{{1,2}}[-/]{_DIGIT}{{2,4}}"),
    Rule("number", f"+.:,\\xad\\u066b\\u066c\\-{_DIGITS}", f"[-+]?{_NUMBER}", _without_soft_hyphens),
    Rule(
        "script",
        "\\xb2\\xb3\\xb9\\u2070\\u2074-\\u2079\\u2080-\\u2089\\u207a\\u207b\\u208a\\u208b",
        "[\\u207a\\u207b\\u208a\\u208b]?(?:[\\u2070\\xb9\\xb2\\xb3\\u2074-\\u2079]+|[\\u2080-\\u2089]+)",
    ),
    Rule(
        "fraction",
        _DIGITS,
        f"(?:{_DIGIT}{{1,4}}[- \\xa0])?{_DIGIT}{{1,4}}(?:\\\\?/|\\u2044){_DIGIT}{{1,4}}",
        _with_hard_spaces,
    ),
    Rule("vulgar", "\\xbc-\\xbe\\u2153-\\u215e", printed=lambda found: _FRACTIONS.get(found, found)),
    Rule(
        "special",
        "AaCcPpSs\\u017f\\-",
        "(?i:-(?:RRB|LRB|RCB|LCB|RSB|LSB)-|C\\.D\\.s|pro-|anti-|S(?:&amp;|&)P-500|S(?:&amp;|&)Ls"
        f"|Cap{_APOSTROPHE}n|c{_APOSTROPHE}est)",
        _with_ampersands,
    ),
    Rule("slashed", "A-Za-z0-9", f"{_SIDE}(?:\\\\?/{_SIDE}){{1,2}}"),
    Rule("dollar", "A-Z$#", "[A-Z]*\\$|#"),
    Rule(
        "currency",
        "\\xa2-\\xa5\\x80\\u20a0\\u20ac\\u060b\\u0e3f\\u20a4\\uffe0\\uffe1\\uffe5\\uffe6",
        printed=lambda found: _CURRENCIES.get(found, found),
    ),
    Rule(
        "letter-stop",
        "A-Za-z",
        f"([A-Za-z])\\.{SPACE_OR_LINE_END}+(?:{_with_capital('openers')}|{_TAG}){SPACE_OR_LINE_END}",
    ),
    Rule(
        "abbr-number",
        "AaBbCcFfNnOoPp",
        f"({_in_any_case('before_number')}\\.){SPACE_OR_LINE_END}?{_DIGIT}",
    ),
    Rule("abbr-pty", "Pp", f"((?i:pt)[EY]\\.){SPACE}(?i:ltd|lim)"),
    Rule(
        "abbr-1",
        "A-GI-PR-Wa-gi-pr-w\\u0131\\u017f\\u212a",
        f"((?:{_in_any_case('before_two')}|{_with_capital('before_two_capital')}|(?i:Pp?t)[ye](?i:s?))\\.)(?:..)?",
    ),
    Rule(
        "abbr-2",
        "A-Za-z\\u0131\\u017f\\u212a",
        f"(?:{_in_any_case('titles')}|M(?i:iss)|(?i:M)[ft](?i:g)|{_INITIALS})\\.",
    ),
    Rule("initials-us", "CcEeJjKkNnSsUu\\u017f\\u212a", f"({_US}){SPACE_OR_LINE_END}"),
    Rule("apos-90", _APOSTROPHE_STARTS, f"({_APOSTROPHE}[0-9][0-9]){SPACE_OR_LINE_END}"),
    Rule(
        "file",
        f"{_LETTERS}{_DIGITS}{MARK}\\xad&",
        f"({OF_WORD_OR_NUMBER}+(?:\\.{OF_WORD_OR_NUMBER}+)*\\.{EXTENSION}){AFTER_FILE}",
    ),
    Rule("word-stop", _WORD_STARTS, f"({_WORD}\\.){_COMMA}", _without_soft_hyphens),
    Rule(
        "phone",
        "(+0-9",
        "(?:\\([0-9]{2,3}\\)[ \\xa0]?|(?:\\+\\+?)?(?:[0-9]{2,4}[- \\xa0])?[0-9]{2,4}[- \\xa0])"
        "[0-9]{3,4}[- \\xa0]?[0-9]{3,5}",
        _with_round_brackets,
    ),
    Rule("phone", "+0-9", "(?:(?:\\+\\+?)?[0-9]{2,4}\\.)?[0-9]{2,4}\\.[0-9]{3,4}\\.[0-9]{3,5}"),
    Rule("double-quote", '"&', '"|(?i:&quot;)', _with_plain_quotes),
    Rule("less", "<&", "<|(?i:&lt;)", lambda found: "<"),
    Rule("greater", ">&", ">|(?i:&gt;)", lambda found: ">"),
    Rule("smiley", "<>:;=", "([<>]?[:;=][-o*']?[()DPdpO\\\\{@|\\[\\]])[^A-Za-z0-9]", _with_round_brackets),
    Rule(
        "asian-smiley",
        "x=~<>'(\\^\\-",
        "[-^x=~<>']_[-^x=~<>']|\\([-^x=~<>'][_.]?[-^x=~<>']\\)|\\([\\^x=~<>']-[\\^x=~<>'`]\\)"
        "|[\\^x=~<>]\\.\\[\\^(?i:x)=[^<]*<>\\]",
        _with_round_brackets,
    ),
    Rule("bracket", "(){}\\[\\]", printed=_BRACKETS.__getitem__),
    Rule("hyphens", "\\-", "-+", lambda found: found if len(found) > 4 else ""),
    Rule("ellipsis", ".\\x85\\u2026", "\\.{3,5}|(?:\\.[ \\xa0]){2,4}\\.|[\\x85\\u2026]", _nothing),
    Rule("marks", "@#_", "@+|#+|_+"),
    Rule("asterisks", "*\\\\", "\\*+|(?:\\\\\\*){1,3}"),
    Rule("comma", ",;:\\u3001", _COMMA),
    Rule("question", "?!", "[?!]+"),
    Rule("stop", ".\\xa1\\xbf\\u037e\\u0589\\u061f\\u06d4\\u0700-\\u0702\\\u3002"),
    Rule("equals", "=/"),
    Rule("hyphenated-stop", "A-Za-z0-9", f"({_HYPHENATED}\\.){_COMMA}", _without_soft_hyphens),
    Rule("hyphenated", "A-Za-z0-9", _HYPHENATED, _without_soft_hyphens),
    Rule("joined-stop", f"{_LETTERS}{_DIGITS}", f"({_JOINED}\\.){_COMMA}"),
    Rule("joined", f"{_LETTERS}{_DIGITS}", _JOINED),
    Rule("capitals-stop", "A-Z", f"({_CAPITALS}\\.){_COMMA}", _with_ampersands),
    Rule("capitals", "A-Z", _CAPITALS, _with_ampersands),
    Rule("open-quote", "'", "(')[A-Za-z][^ \\t\\n\\r\\xa0]"),
    Rule("clitic-late", _APOSTROPHE_STARTS, _CLITIC, _with_plain_quotes),
    Rule(
        "quote",
        f"`\\u2018-\\u201f\\x91-\\x94\\u2039\\u203a\\xab\\xbb{_APOSTROPHE_STARTS}",
        f"''|[`\\u2018-\\u201f\\x91-\\x94\\u2039\\u203a\\xab\\xbb]{{1,2}}|{_APOSTROPHE}",
        _with_plain_quotes,
    ),
    Rule("angles", "<>", "<<|>>"),
    Rule("symbol", f"+%&~\\^|\\\\\\xb2\\xb3\\xb9\\u2044\\u207a\\u207b\\u208a\\u208b{SYMBOL}"),
    # Match a whole run, because a site may begin with U+00A0, but not after a space.
    Rule("space", f"{_SPACES}&", f"{SPACE}+|(?i:&nbsp;)", _nothing),
)
