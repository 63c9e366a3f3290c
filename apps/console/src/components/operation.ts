import { useSignal } from '@preact/signals';
import type { TargetedSubmitEvent } from 'preact';
import { messageOf } from '../api/client';

export interface Operation {
  readonly isBusy: boolean;
  /** Why the last attempt failed; empty: it did not. */
  readonly failure: string;
  /** Resolves to whether it succeeded. */
  readonly execute: (work: () => Promise<unknown>) => Promise<boolean>;
}

/** An operation that a user starts, with its state for the page. */
export function useOperation(): Operation {
  const isBusy = useSignal(false);
  const failure = useSignal('');
  const execute = async (work: () => Promise<unknown>): Promise<boolean> => {
    isBusy.value = true;
    failure.value = '';
    try {
      await work();
      return true;
    } catch (error) {
      failure.value = messageOf(error);
      return false;
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy: isBusy.value, failure: failure.value, execute };
}

/** The operation of a form on one line, which is emptied after a success. */
export function useSubmit(send: (data: FormData) => Promise<unknown>) {
  const operation = useOperation();
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    void operation
      .execute(() => send(new FormData(form)))
      .then((isDone) => {
        if (isDone) form.reset();
      });
  };
  return { ...operation, onSubmit };
}

/** The text of a field; empty: the form has none of this name. */
export function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value : '';
}
