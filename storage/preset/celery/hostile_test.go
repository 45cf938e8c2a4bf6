package celery_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/celery"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, celery.Preset.Redis, driver.RedisOptions{}) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, celery.Preset.Redis, driver.RedisOptions{})
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, celery.Preset.Redis, driver.RedisOptions{}, newFixture)
}
