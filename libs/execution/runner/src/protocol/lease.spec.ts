import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Lease } from './lease.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('expires at eight ninths of its length after the last successful request was sent', () => {
  const expired = vi.fn();
  const lease = new Lease(expired);
  lease.start(9, performance.now());
  vi.advanceTimersByTime(5_000);
  const sentAt = performance.now() - 2_000;
  lease.renewed(sentAt);
  vi.advanceTimersByTime(5_999);
  expect(expired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(2);
  expect(expired).toHaveBeenCalledOnce();
});

it('is not shortened by a late response', () => {
  const expired = vi.fn();
  const lease = new Lease(expired);
  lease.start(9, performance.now());
  vi.advanceTimersByTime(4_000);
  lease.renewed(performance.now());
  lease.renewed(performance.now() - 3_000);
  vi.advanceTimersByTime(7_990);
  expect(expired).not.toHaveBeenCalled();
});

it('follows a new length, and stops', () => {
  const expired = vi.fn();
  const lease = new Lease(expired);
  lease.start(90, performance.now());
  lease.setTtl(3);
  vi.advanceTimersByTime(2_600);
  expect(expired).not.toHaveBeenCalled();
  lease.stop();
  vi.advanceTimersByTime(100_000);
  expect(expired).not.toHaveBeenCalled();
});
