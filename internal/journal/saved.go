package journal

import "context"

// Load returns the value saved last under key, and whether there is one.
func (j *Journal) Load(ctx context.Context, deployment, key string) ([]byte, bool, error) {
	all, err := listRows(ctx, j, "load "+key, deployment, scanBytes,
		`SELECT value FROM saved WHERE deployment = ? AND key = ?`, deployment, key)
	if err != nil || len(all) == 0 {
		return nil, false, err
	}
	return all[0], true, nil
}

func scanBytes(row scanner) ([]byte, error) {
	var b []byte
	err := row.Scan(&b)
	return nonNilBytes(b), err
}

// Save stores value under key and replaces an earlier one. When it returns nil, the value survives
// a kill of every process. The deployment must exist.
func (j *Journal) Save(ctx context.Context, deployment, key string, value []byte) error {
	return j.runWrite(ctx, "save "+key, deployment, func(tx *tx) error {
		return tx.exec(`INSERT INTO saved (deployment, key, value, at) VALUES (?, ?, ?, ?)
			ON CONFLICT (deployment, key) DO UPDATE SET value = excluded.value, at = excluded.at`,
			deployment, key, nonNilBytes(value), j.nowNanos())
	})
}
