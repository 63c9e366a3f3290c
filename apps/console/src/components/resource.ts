import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
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
  const reload = async (): Promise<void> => {
    try {
      data.value = await read();
      failure.value = '';
    } catch (error) {
      failure.value = messageOf(error);
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
