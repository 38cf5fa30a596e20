"""What the report says: libraries, a city and figures that do not exist."""

from __future__ import annotations

TABLE_CAPTION = "表1 各馆扫描量与识别结果 Table 1. Pages scanned and reading results"

TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("分馆 Branch", "页数 Pages", "人工复核 Reviewed", "准确率 Accuracy"),
    ("槐安馆 Huai'an", "48,210", "1,932", "98.6%"),
    ("月影馆 Moonshade", "31,075", "1,408", "97.9%"),
    ("蜃楼馆 Mirage", "26,640", "1,745", "96.2%"),
    ("合计 Total", "105,925", "5,085", "97.8%"),
)

_FIRST: tuple[tuple[str, str], ...] = (
    ("title", "社区图书馆数字化试点报告"),
    ("subtitle", "Digitising Community Libraries: Report on a One-Year Pilot"),
    ("heading", "1. 项目背景 Background"),
    (
        "zh",
        "2031年1月，南柯市在槐安、月影、蜃楼三家社区图书馆启动纸质文献数字化试点。三馆共有地方志、"
        "手抄账本、旧报纸和借阅卡片约12万页，其中近三成纸张发黄、墨迹变浅，人工录入每页平均"
        "需要11分钟，远远跟不上读者的查询需求。",
    ),
    (
        "en",
        "The pilot set out to answer one question: can a small device at the counter read most "
        "pages on its own, and ask a larger model for help only when it is unsure? Each branch "
        "received one book scanner and one fanless computer; no page was to leave the building "
        "unless the branch manager had agreed to it in writing.",
    ),
    ("heading", "2. 工作方法 Method"),
    (
        "zh",
        "扫描分辨率统一为300 dpi，灰度存储。设备端先给出全部文字及每行的可信程度；可信程度低于"
        "设定阈值的行，裁成小图后送往市馆服务器重新识别。工作人员每周随机抽取200页核对，并把"
        "错误分为“漏字”“错字”“多字”“顺序错误”四类登记。",
    ),
    (
        "en",
        "Readers were not asked to change their habits. A volunteer placed the volume on the "
        "cradle, pressed a pedal, and turned the page; the text appeared on screen within two "
        "seconds. Pages with stamps, marginal notes or well-known damage were marked by hand so "
        "that they could be counted apart from the rest.",
    ),
    (
        "zh",
        "为保护隐私，借阅卡片上的姓名、住址与证件号码在离开设备之前一律涂黑。全年共登记涂黑区域"
        "18,437处，抽查未发现遗漏。",
    ),
    (
        "en",
        "Every reading was kept twice: the text as the machine gave it, and the text after "
        "correction. This made it possible to measure errors by cause at the end of the year "
        "instead of guessing, and to re-run old pages whenever a better model arrived.",
    ),
    (
        "zh",
        "试点期间共召开月度例会12次，参加人员包括三馆馆员、志愿者和两位古籍修复师。例会记录显示，"
        "工作流程在前三个月改动最多，此后基本稳定。",
    ),
)

_SECOND: tuple[tuple[str, str], ...] = (
    ("heading", "3. 主要结果 Results"),
    (
        "zh",
        "截至2031年12月20日，三馆累计扫描105,925页，其中93.1%的行由设备端直接定稿，其余6.9%送往"
        "服务器重新识别。全年网络流量为4.7 GB，约为整页上传方案的1/18。",
    ),
    ("table", ""),
    (
        "en",
        "Most remaining errors came from three sources: faded carbon copies (41%), handwriting "
        "between printed lines (33%), and tables whose rules touch the digits (14%). The Mirage "
        "branch, which holds the oldest newspapers, accounted for half of all reviewed pages in "
        "March and April.",
    ),
    ("heading", "4. 问题与建议 Lessons learned"),
    (
        "zh",
        "第一，光照比分辨率更重要：更换均匀光源之后，月影馆的错字率由2.9%降至1.6%。第二，阈值不宜"
        "由各馆自行调整，应当根据抽查结果每季度统一核定一次。第三，断网期间设备仍须照常工作，待"
        "网络恢复后再补送，不得让读者等待。",
    ),
    (
        "en",
        "We recommend extending the scheme to the remaining nine branches from April 2032, at an "
        "estimated cost of CNY 386,000 for equipment and CNY 52,500 a year for maintenance. Two of "
        "them have no stable connection; they will work offline and hand in their doubtful lines "
        "once a week on an encrypted disk.",
    ),
    (
        "zh",
        "建议在《南柯市公共图书馆服务规范》（NK/T 031—2028）中增加“机器识别文本”一章，明确文本"
        "来源、校对责任与更正办法；对外提供检索时，应当注明“机器识别，仅供参考”字样，并附原图链接。",
    ),
    ("heading", "5. 结语 Conclusion"),
    (
        "en",
        "A modest machine that admits when it is unsure turned out to be more useful than a clever "
        "one that never does. The volunteers have asked to keep the pedals.",
    ),
    (
        "zh",
        "本报告由南柯市图书馆联盟数字化小组编写，联系邮箱：digital@nanke-lib.example，电话："
        "0000-5550119（工作日9:00—17:00）。",
    ),
)

PAGES = (_FIRST, _SECOND)
