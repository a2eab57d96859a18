"""What was worked out a short while ago and is asked for again."""

from unchunk.retrieval.cache import TimedCache


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_value_is_kept_for_its_time_and_no_longer() -> None:
    clock = Clock()
    cache: TimedCache[str, int] = TimedCache(10, 300, clock)
    cache.put("a", 1)
    clock.now = 299.9
    assert cache.get("a") == 1
    clock.now = 300
    assert cache.get("a") is None
    assert len(cache) == 0


def test_a_value_that_is_used_does_not_live_longer_for_it() -> None:
    clock = Clock()
    cache: TimedCache[str, int] = TimedCache(10, 300, clock)
    cache.put("a", 1)
    for moment in (100, 200, 299):
        clock.now = moment
        assert cache.get("a") == 1
    clock.now = 301
    assert cache.get("a") is None


def test_what_was_not_used_for_longest_makes_room() -> None:
    cache: TimedCache[str, int] = TimedCache(2, 300, Clock())
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_the_last_value_of_a_key_counts() -> None:
    clock = Clock()
    cache: TimedCache[str, int] = TimedCache(2, 300, clock)
    cache.put("a", 1)
    clock.now = 200
    cache.put("a", 2)
    clock.now = 400
    assert cache.get("a") == 2
