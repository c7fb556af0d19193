package ecs

import (
	"github.com/sluice-ecs/sluice/awssim/wire"
)

// pageOf returns a page of names or ARNs, limit items unless fewer are requested.
func pageOf(items []string, next *string, max, limit int) ([]string, *string, error) {
	return pageFrom(items, next, max, limit, limit)
}

// pageFrom is pageOf with a default page size that is smaller than the limit.
func pageFrom(items []string, next *string, max, def, limit int) ([]string, *string, error) {
	if max < 0 || max > limit {
		return nil, nil, invalidParameter("MaxResults must be between 1 and %d.", limit)
	}
	page, more, err := wire.Page(items, next, max, def, limit, func(s string) string { return s })
	if err != nil {
		return nil, nil, invalidParameter("Invalid token.")
	}
	if page == nil {
		page = []string{}
	}
	return page, more, nil
}
