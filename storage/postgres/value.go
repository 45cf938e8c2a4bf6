package postgres

import (
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/rows"
)

// decode turns a column's binary value into what package rows takes.
func decode(m *pgtype.Map, field pgconn.FieldDescription, raw []byte) (any, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // NULL is a value
	}
	switch field.DataTypeOID {
	case pgtype.TimestampOID:
		return rows.Unfit("a timestamp without time zone, which could mean any; write column AT TIME ZONE 'UTC' or as it is"), nil
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID:
		return string(raw), nil
	}
	typ, ok := m.TypeForOID(field.DataTypeOID)
	if !ok {
		// An enum or a type of an extension.
		return rows.Unfit(fmt.Sprintf("a value of a type (OID %d) that is not PostgreSQL's own; cast it", field.DataTypeOID)), nil
	}
	value, err := typ.Codec.DecodeValue(m, field.DataTypeOID, pgtype.BinaryFormatCode, raw)
	if err != nil {
		message := fmt.Sprintf("column %q cannot be read as %s", field.Name, typ.Name)
		return nil, &driver.Error{Kind: driver.Contract, Message: message, Err: err}
	}
	return plain(value, typ.Name), nil
}

// plain reduces pgx's many types to the few of the row contract.
func plain(value any, typeName string) any {
	switch v := value.(type) {
	case bool, int64, float64, string:
		return v
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case float32:
		return float64(v)
	case pgtype.Numeric: // such as of sum(bigint)
		return numeric(v)
	case time.Time:
		if typeName == "timestamptz" {
			return v
		}
	case pgtype.InfinityModifier:
		return rows.Unfit(v.String())
	}
	return rows.Unfit("a value of type " + typeName)
}

func numeric(n pgtype.Numeric) any {
	if n.NaN {
		return math.NaN()
	}
	if i, err := n.Int64Value(); err == nil && i.Valid {
		return i.Int64
	}
	f, err := n.Float64Value()
	if err != nil {
		return rows.Unfit("a number that cannot be read")
	}
	return f.Float64
}
