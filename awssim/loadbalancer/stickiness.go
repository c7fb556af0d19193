package loadbalancer

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The cookies that an Application Load Balancer sets. Each has a twin with
// SameSite=None for requests from other sites.
const (
	GroupCookie      = "AWSALBTG"
	GroupCookieCORS  = "AWSALBTGCORS"
	TargetCookie     = "AWSALB"
	TargetCookieCORS = "AWSALBCORS"
)

// stuckGroup returns the slot of the group that the request's cookie names. The rule must be
// sticky, and the group must still belong to it.
func (t *Table) stuckGroup(f *forwardView, r *Request) (slot int, ok bool) {
	if !f.sticky || len(f.shares) < 2 {
		return 0, false
	}
	want, ok := readCookie(r, GroupCookie, GroupCookieCORS)
	if !ok {
		return 0, false
	}
	for _, s := range f.shares {
		g := t.groups[s.slot]
		if g.hash != want {
			continue
		}
		stays := (s.weight > 0 || t.settings.keepsZeroWeight) && (len(g.takes) > 0 || t.settings.keepsEmpty)
		return s.slot, stays
	}
	return 0, false
}

// stuckTarget returns the target that the request's cookie names. The group must be sticky, and the
// target must take requests.
func (g *GroupView) stuckTarget(r *Request) *TargetView {
	if !g.sticky {
		return nil
	}
	want, ok := readCookie(r, TargetCookie, TargetCookieCORS)
	if !ok {
		return nil
	}
	for _, i := range g.takes {
		if t := &g.Targets[i]; t.hash == want {
			return t
		}
	}
	return nil
}

// stickyCookies returns the cookies to set on the answer. AWS renews them with each answer.
func stickyCookies(f *forwardView, g *GroupView, t *TargetView, r *Request) []*http.Cookie {
	var out []*http.Cookie
	if f.sticky && len(f.shares) > 1 {
		out = appendPair(out, GroupCookie, GroupCookieCORS, g.hash, r, time.Duration(f.stickySec)*time.Second)
	}
	if g.sticky {
		out = appendPair(out, TargetCookie, TargetCookieCORS, t.hash, r, g.stickyFor)
	}
	return out
}

func appendPair(out []*http.Cookie, name, cors string, hash uint64, r *Request, d time.Duration) []*http.Cookie {
	till := r.At.Add(d)
	own := &http.Cookie{Name: name, Value: cookieValue(hash, till), Expires: till, Path: "/"}
	twin := *own
	twin.Name, twin.SameSite, twin.Secure = cors, http.SameSiteNoneMode, r.Scheme == "https"
	return append(out, own, &twin)
}

// cookieValue encodes the group or target and the expiry. It needs no stored state: any node and
// any later table can read it.
func cookieValue(hash uint64, till time.Time) string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[0:], hash)
	binary.BigEndian.PutUint64(b[8:], uint64(till.UnixMilli()))
	binary.BigEndian.PutUint32(b[16:], uint32(hashOf(string(b[:16]))))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// readCookie returns the hash in a cookie of the request. A broken or expired cookie counts as
// absent.
func readCookie(r *Request, names ...string) (hash uint64, ok bool) {
	for _, name := range names {
		for _, line := range r.Header["Cookie"] {
			if value, found := findCookie(line, name); found {
				if hash, ok = parseCookie(value, r.At); ok {
					return hash, true
				}
			}
		}
	}
	return 0, false
}

func findCookie(line, name string) (string, bool) {
	for line != "" {
		var pair string
		pair, line, _ = strings.Cut(line, ";")
		k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if k == name {
			return strings.Trim(v, `"`), true
		}
	}
	return "", false
}

func parseCookie(value string, now time.Time) (uint64, bool) {
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(b) != 20 {
		return 0, false
	}
	if binary.BigEndian.Uint32(b[16:]) != uint32(hashOf(string(b[:16]))) {
		return 0, false
	}
	till := time.UnixMilli(int64(binary.BigEndian.Uint64(b[8:])))
	return binary.BigEndian.Uint64(b), now.Before(till)
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

func targetHash(group, id string, port int32) uint64 {
	return hashOf(group + "\x00" + id + "\x00" + strconv.Itoa(int(port)))
}
