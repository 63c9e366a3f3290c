import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from '../api/client';

export interface Resource<T> {
  /** Undefined: it is not there yet. What was there stays while it is read again. */
  readonly data: T | undefined;
  readonly failure: string;
  /** Never rejects: `failure` has the reason. */
  readonly reload: () => Promise<void>;
}

/** What the API returns, read again when `key` changes, and every `refreshMs` while the page is visible. */
export function useResource<T>(read: () => Promise<T>, key: string, refreshMs = 0): Resource<T> {
  const data = useSignal<T | undefined>(undefined);
  const failure = useSignal('');
  // Two reads may end in the other order: only the answer to the latest one counts.
  const latest = useRef(0);
  const reload = async (): Promise<void> => {
    latest.current += 1;
    const own = latest.current;
    try {
      const found = await read();
      if (own !== latest.current) return;
      data.value = found;
      failure.value = '';
    } catch (error) {
      if (own === latest.current) failure.value = messageOf(error);
    }
  };
  useEffect(() => {
    void reload();
    if (refreshMs === 0) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) void reload();
    }, refreshMs);
    return () => clearInterval(timer);
  }, [key]);
  return { data: data.value, failure: failure.value, reload };
}
