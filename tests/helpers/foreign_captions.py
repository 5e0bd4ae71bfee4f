"""Artificial captions in German, Chinese and Arabic, two hundred per language, each with subject, action and place."""

from itertools import product

_GERMAN = (
    (
        *("Ein brauner Hund", "Die kleine Katze", "Ein alter Mann", "Eine Frau im roten Kleid", "Das Mädchen"),
        *("Ein junger Vater", "Der große Vogel", "Ein müder Reiter", "Die Nachbarin", "Ein Kind mit Mütze"),
    ),
    ("läuft", "wartet", "spielt", "schläft", "sitzt"),
    ("auf der Wiese.", "hinter dem gelben Haus.", "neben einem See.", "am Rand der Straße."),
)
_CHINESE = (
    (
        *("一只棕色的狗", "一只小猫", "一位老人", "穿红裙子的女人", "那个女孩"),
        *("年轻的父亲", "一只大鸟", "一名骑手", "邻居", "戴帽子的孩子"),
    ),
    ("在草地上", "在黄色的房子前面", "在湖边", "在马路旁边"),
    ("奔跑。", "等待。", "玩耍。", "慢慢地走着。", "高高兴兴地跳舞。"),
)
_ARABIC = (
    (
        *("كلب بني", "القطة الصغيرة", "رجل عجوز", "امرأة بثوب أحمر", "الفتاة"),
        *("أب شاب", "طائر كبير", "فارس متعب", "جارتنا", "طفل يرتدي قبعة"),
    ),
    ("يجلس", "يَنتَظِر", "يلعب", "ينام", "يمشي"),
    ("على العشب.", "أمام البيت الأصفر.", "بجانب البحيرة.", "عند طرف الشارع."),
)

FOREIGN_CAPTIONS = {
    "German": [" ".join(parts) for parts in product(*_GERMAN)],
    "Chinese": ["".join(parts) for parts in product(*_CHINESE)],
    "Arabic": [" ".join(parts) for parts in product(*_ARABIC)],
}
