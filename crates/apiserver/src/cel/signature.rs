//! The functions an expression may call, as a table: `name receiver.(arguments) result`.

/// One overload per line.
pub(super) const TABLE: &str = "
!_ (bool) bool
-_ (int) int
-_ (double) double
-_ (duration) duration
_+_ (bytes, bytes) bytes
_+_ (double, double) double
_+_ (duration, duration) duration
_+_ (duration, timestamp) timestamp
_+_ (timestamp, duration) timestamp
_+_ (int, int) int
_+_ (list(A), list(A)) list(A)
_+_ (string, string) string
_+_ (uint, uint) uint
_-_ (double, double) double
_-_ (duration, duration) duration
_-_ (int, int) int
_-_ (timestamp, duration) timestamp
_-_ (timestamp, timestamp) duration
_-_ (uint, uint) uint
_*_ (double, double) double
_*_ (int, int) int
_*_ (uint, uint) uint
_/_ (double, double) double
_/_ (int, int) int
_/_ (uint, uint) uint
_%_ (int, int) int
_%_ (uint, uint) uint
_==_ (A, A) bool
_!=_ (A, A) bool
@in (A, list(A)) bool
@in (A, map(A, B)) bool
_[_] (list(A), int) A
_[_] (map(A, B), A) B
_[_] (optional(list(V)), int) optional(V)
_[_] (optional(map(K, V)), K) optional(V)
size (bytes) int
size bytes.() int
size (list(A)) int
size list(A).() int
size (map(A, B)) int
size map(A, B).() int
size (string) int
size string.() int
type (A) type
dyn (A) dyn
bool (bool) bool
bool (string) bool
bytes (bytes) bytes
bytes (string) bytes
double (double) double
double (int) double
double (string) double
double (uint) double
duration (duration) duration
duration (int) duration
duration (string) duration
int (int) int
int (double) int
int (duration) int
int (string) int
int (timestamp) int
int (uint) int
string (string) string
string (bool) string
string (bytes) string
string (double) string
string (duration) string
string (int) string
string (timestamp) string
string (uint) string
string (net.IP) string
string (net.CIDR) string
timestamp (timestamp) timestamp
timestamp (int) timestamp
timestamp (string) timestamp
uint (uint) uint
uint (double) uint
uint (int) uint
uint (string) uint
contains string.(string) bool
endsWith string.(string) bool
startsWith string.(string) bool
matches (string, string) bool
matches string.(string) bool
getFullYear timestamp.() int
getFullYear timestamp.(string) int
getMonth timestamp.() int
getMonth timestamp.(string) int
getDayOfYear timestamp.() int
getDayOfYear timestamp.(string) int
getDayOfMonth timestamp.() int
getDayOfMonth timestamp.(string) int
getDate timestamp.() int
getDate timestamp.(string) int
getDayOfWeek timestamp.() int
getDayOfWeek timestamp.(string) int
getHours timestamp.() int
getHours timestamp.(string) int
getHours duration.() int
getMinutes timestamp.() int
getMinutes timestamp.(string) int
getMinutes duration.() int
getSeconds timestamp.() int
getSeconds timestamp.(string) int
getSeconds duration.() int
getMilliseconds timestamp.() int
getMilliseconds timestamp.(string) int
getMilliseconds duration.() int
charAt string.(int) string
indexOf string.(string) int
indexOf string.(string, int) int
indexOf list(A).(A) int
join list(string).() string
join list(string).(string) string
lastIndexOf string.(string) int
lastIndexOf string.(string, int) int
lastIndexOf list(A).(A) int
lowerAscii string.() string
replace string.(string, string) string
replace string.(string, string, int) string
split string.(string) list(string)
split string.(string, int) list(string)
substring string.(int) string
substring string.(int, int) string
trim string.() string
upperAscii string.() string
format string.(list(dyn)) string
strings.quote (string) string
find string.(string) string
findAll string.(string) list(string)
findAll string.(string, int) list(string)
isSorted list(int).() bool
isSorted list(uint).() bool
isSorted list(double).() bool
isSorted list(bool).() bool
isSorted list(duration).() bool
isSorted list(timestamp).() bool
isSorted list(string).() bool
isSorted list(bytes).() bool
sum list(int).() int
sum list(uint).() uint
sum list(double).() double
sum list(duration).() duration
min list(int).() int
min list(uint).() uint
min list(double).() double
min list(bool).() bool
min list(duration).() duration
min list(timestamp).() timestamp
min list(string).() string
min list(bytes).() bytes
max list(int).() int
max list(uint).() uint
max list(double).() double
max list(bool).() bool
max list(duration).() duration
max list(timestamp).() timestamp
max list(string).() string
max list(bytes).() bytes
slice list(T).(int, int) list(T)
flatten list(list(T)).() list(T)
flatten list(dyn).(int) list(dyn)
sort list(T).() list(T)
distinct list(T).() list(T)
reverse list(T).() list(T)
first list(T).() optional(T)
last list(T).() optional(T)
lists.range (int) list(int)
sets.contains (list(T), list(T)) bool
sets.equivalent (list(T), list(T)) bool
sets.intersects (list(T), list(T)) bool
optional.of (V) optional(V)
optional.ofNonZeroValue (V) optional(V)
optional.none () optional(V)
hasValue optional(V).() bool
value optional(V).() V
or optional(V).(optional(V)) optional(V)
orValue optional(V).(V) V
unwrapOpt list(optional(V)).() list(V)
optional.unwrap (list(optional(V))) list(V)
url (string) kubernetes.URL
isURL (string) bool
getScheme kubernetes.URL.() string
getHost kubernetes.URL.() string
getHostname kubernetes.URL.() string
getPort kubernetes.URL.() string
getEscapedPath kubernetes.URL.() string
getQuery kubernetes.URL.() map(string, list(string))
ip (string) net.IP
isIP (string) bool
ip.isCanonical (string) bool
family net.IP.() int
isUnspecified net.IP.() bool
isLoopback net.IP.() bool
isLinkLocalMulticast net.IP.() bool
isLinkLocalUnicast net.IP.() bool
isGlobalUnicast net.IP.() bool
cidr (string) net.CIDR
isCIDR (string) bool
containsIP net.CIDR.(string) bool
containsIP net.CIDR.(net.IP) bool
containsCIDR net.CIDR.(string) bool
containsCIDR net.CIDR.(net.CIDR) bool
ip net.CIDR.() net.IP
prefixLength net.CIDR.() int
masked net.CIDR.() net.CIDR
quantity (string) kubernetes.Quantity
isQuantity (string) bool
isInteger kubernetes.Quantity.() bool
asInteger kubernetes.Quantity.() int
asApproximateFloat kubernetes.Quantity.() double
sign kubernetes.Quantity.() int
add kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity
add kubernetes.Quantity.(int) kubernetes.Quantity
sub kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity
sub kubernetes.Quantity.(int) kubernetes.Quantity
isLessThan kubernetes.Quantity.(kubernetes.Quantity) bool
isLessThan kubernetes.Semver.(kubernetes.Semver) bool
isGreaterThan kubernetes.Quantity.(kubernetes.Quantity) bool
isGreaterThan kubernetes.Semver.(kubernetes.Semver) bool
compareTo kubernetes.Quantity.(kubernetes.Quantity) int
compareTo kubernetes.Semver.(kubernetes.Semver) int
semver (string) kubernetes.Semver
semver (string, bool) kubernetes.Semver
isSemver (string) bool
isSemver (string, bool) bool
major kubernetes.Semver.() int
minor kubernetes.Semver.() int
patch kubernetes.Semver.() int
format.dns1123Label () kubernetes.NamedFormat
format.dns1123Subdomain () kubernetes.NamedFormat
format.dns1035Label () kubernetes.NamedFormat
format.qualifiedName () kubernetes.NamedFormat
format.dns1123LabelPrefix () kubernetes.NamedFormat
format.dns1123SubdomainPrefix () kubernetes.NamedFormat
format.dns1035LabelPrefix () kubernetes.NamedFormat
format.labelValue () kubernetes.NamedFormat
format.uri () kubernetes.NamedFormat
format.uuid () kubernetes.NamedFormat
format.byte () kubernetes.NamedFormat
format.date () kubernetes.NamedFormat
format.datetime () kubernetes.NamedFormat
format.named (string) optional(kubernetes.NamedFormat)
validate kubernetes.NamedFormat.(string) optional(list(string))
path kubernetes.authorization.Authorizer.(string) kubernetes.authorization.PathCheck
group kubernetes.authorization.Authorizer.(string) kubernetes.authorization.GroupCheck
serviceAccount kubernetes.authorization.Authorizer.(string, string) kubernetes.authorization.Authorizer
resource kubernetes.authorization.GroupCheck.(string) kubernetes.authorization.ResourceCheck
subresource kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
namespace kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
name kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
fieldSelector kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
labelSelector kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
check kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.Decision
check kubernetes.authorization.PathCheck.(string) kubernetes.authorization.Decision
allowed kubernetes.authorization.Decision.() bool
reason kubernetes.authorization.Decision.() string
errored kubernetes.authorization.Decision.() bool
error kubernetes.authorization.Decision.() string
jsonpatch.escapeKey (string) string
_<_ (bool, bool) bool
_<_ (int, int) bool
_<_ (int, double) bool
_<_ (int, uint) bool
_<_ (uint, uint) bool
_<_ (uint, double) bool
_<_ (uint, int) bool
_<_ (double, double) bool
_<_ (double, int) bool
_<_ (double, uint) bool
_<_ (string, string) bool
_<_ (bytes, bytes) bool
_<_ (timestamp, timestamp) bool
_<_ (duration, duration) bool
";
