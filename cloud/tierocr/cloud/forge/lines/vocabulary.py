"""The words that generated lines are made of. All names are invented."""

from __future__ import annotations


def _split(text: str, between: str | None = None) -> tuple[str, ...]:
    return tuple(text.split(between))


FIELDS_ZH = _split(
    "姓名 性别 民族 出生日期 住址 籍贯 学历 职务 部门 工号 联系电话 电子邮箱 邮政编码 开户银行 "
    "账号 户名 发票代码 发票号码 开票日期 校验码 购买方名称 纳税人识别号 规格型号 单位 数量 "
    "单价 金额 税率 税额 合计 价税合计 收款人 复核 开票人 备注 订单编号 物流单号 发货日期 "
    "收货人 收货地址 桌号 收银员 应收 实收 找零 会员卡号 本次积分 生产日期 保质期 净含量 产地 "
    "配料 执行标准 批准文号 申请人 审批意见 起止时间 用途 项目名称 合同编号 签订地点 有效期至 "
    "检验结果 参考范围 样本号 科室 床号 医师签名 车次 检票口 座位号 票价"
)

WORDS_ZH = _split(
    "公司 部门 客户 合同 项目 计划 材料 设备 产品 质量 检验 标准 技术 服务 管理 系统 数据 信息 "
    "网络 安全 工程 施工 现场 图纸 会议 通知 报告 记录 审核 批准 申请 登记 办理 提交 负责 要求 "
    "规定 条款 范围 期限 费用 预算 付款 收入 成本 利润 市场 销售 采购 库存 运输 仓储 包装 说明 "
    "使用 安装 维护 更换 清洁 检查 温度 湿度 压力 电压 功率 速度 重量 长度 面积 容量 上午 下午 "
    "明天 每月 季度 年度 本期 上期 增长 下降 学校 学生 教师 课程 考试 成绩 医院 患者 药品 剂量 "
    "症状 治疗 银行 贷款 利率 保险 社区 居民 街道 车站 应当 不得 可以 必须 按照 根据 由于 因此 "
    "同时 以及 或者 如果 已经 正在 尚未 完成 开始 结束 继续 停止 良好 合格 正常 异常 主要 其他 "
    "相关 有关 全部 部分 新增 原有 共同 独立 及时 定期 妥善 严格 认真 充分"
)

NAMES_ZH = _split(
    "南柯 槐安 蜃楼 月影 乌有 子虚 云梦 桃源 镜湖 雾隐 星槎 听雨 拾光 青鸾 白鹿 赤霞 玄圃 琅嬛 "
    "蓬丘 瀛洲"
)

KINDS_ZH = _split(
    "商贸有限公司 科技股份有限公司 物业服务中心 便利店 大药房 小学 人民医院 街道办事处 "
    "建筑工程队 印刷厂 茶餐厅 旅行社 测绘研究所 汽车维修部 文化传播工作室"
)

GOODS_ZH = _split(
    "山泉饮用水550ml 乌梅酸汤面(桶装) 原味苏打饼干 低脂酸牛奶200g 抽取式面巾纸 薄荷口香糖 "
    "桂花乌龙茶 红豆糕 不锈钢水龙头 五孔插座 A4复印纸(500张) 圆珠笔0.5mm 充电器Type-C "
    "硅胶密封圈 手工牛肉面 宫保鸡丁饭 维生素C片 医用外科口罩 洗衣液2kg 三合一咖啡 蓝牙耳机 "
    "LED灯泡9W 雨衣(XL) 运动水壶"
)

UNITS_ZH = _split("元 件 个 台 箱 公斤 平方米 次 人 天 页 份 % kg mm ℃ kW·h")

FIELDS_EN = _split(
    "Name|Address|Date|Date of birth|Invoice No.|Order ID|Customer|Account number|Due date|"
    "Phone|Fax|E-mail|Subject|Reference|Department|Quantity|Unit price|Amount|Subtotal|Total|"
    "VAT|Discount|Balance due|Cashier|Table|Guests|Change|Card|Approval code|Terminal|Batch|"
    "Serial No.|Model|Weight|Dimensions|Voltage|Expiry date|Prepared by|Approved by|Signature|"
    "Remarks|Page|Contract|Project|Location|Sample|Result|Reference range|Ward|Flight|Gate|"
    "Seat|Boarding time",
    "|",
)

WORDS_EN = _split(
    "the of and to in for is on that by this with from at as are was be has it or an were "
    "which will all not have can their more its may other than must shall should when where "
    "each into report system data paper company market price order customer product service "
    "quality test sample result method table figure section value number total average annual "
    "monthly daily increase decrease growth change level rate cost sales income budget payment "
    "account balance contract project office building room floor street water power machine "
    "engine filter valve temperature pressure voltage current speed weight length surface "
    "material equipment device software network update file folder screen button setting "
    "password user message request delivery shipment warehouse package return refund receipt "
    "invoice quantity description department manager director engineer analyst committee "
    "meeting agenda minutes approval patient treatment clinical dose response control group "
    "study analysis evidence however between during before after under within without "
    "including required available following please keep check replace clean install remove "
    "store open close press hold wait contact"
)

NAMES_EN = _split(
    "Marrowby Lanternfield Quillon Tessaly Brackwater Ostrander Fenwick-Hale Ambrosia "
    "Dunmorrow Kestrelton Vantor Isolde Pemberwick Halcyon Rookhope Silvermere Thornaby "
    "Wexcombe Yarrow Zephyr"
)

KINDS_EN = _split(
    "Ltd|Inc.|Trading Co.|& Sons|Hardware|Tea Room|Pharmacy|Logistics|Clinic|Studio|GmbH",
    "|",
)

GOODS_EN = _split(
    "GREEN TEA 500ML|SOUP DUMPLINGS|A4 PAPER 80G|BALLPOINT PEN BLK|LED BULB 9W E27|"
    "CHICKEN RICE SET|USB-C CABLE 1M|HAND SOAP REFILL|STEEL SCREW M4X20|BATTERY AA 4PK|"
    "ORANGE JUICE 1L|PVC PIPE 25MM|TOMATO PASTA|VITAMIN C 1000|SAFETY GLOVES L|"
    "PRINTER INK CYAN|MINERAL WATER|FRIED NOODLES",
    "|",
)

WORDS_HANT = _split(
    "公司 業務 資產 負債 損益 財務 報表 董事會 股東 審計 準則 規定 風險 評估 關聯 交易 合併 "
    "現金 流量 折舊 營業 收入 費用 稅額 發票 號碼 統一 編號 電話 地址 門市 總計 點數 會員 優惠 "
    "數量 單價 備註 開始 結束 應於 期間 屆滿 前項 辦理 變更 登記 證明 圖書館 學習 讀者 歷史 "
    "藝術 國際 機場 車廂 轉乘 繁體 檢驗 標準"
)
