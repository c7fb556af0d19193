package journal

import (
	"context"
	"fmt"
)

// LimitPages makes the database full at n pages, as a full disk would.
func (j *Journal) LimitPages(ctx context.Context, n int) error {
	_, err := j.writer.ExecContext(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
	return err
}
