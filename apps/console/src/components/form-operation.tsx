import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ApiProblem, messageOf } from '../api/client';

export interface FormOperation {
  readonly isBusy: boolean;
  /** Why the last attempt failed, as far as no field says it; empty: it did not. */
  readonly failure: string;
  /** What is wrong with a field of the request, such as `/name`. */
  readonly errorOf: (pointer: string) => string;
  /** Resolves to whether it succeeded. */
  readonly execute: (work: () => Promise<unknown>) => Promise<boolean>;
}

/** The operation of a form. `fields`: the pointers for which the form shows errors beside the field. */
export function useFormOperation(fields: readonly string[]): FormOperation {
  const isBusy = useSignal(false);
  const failure = useSignal('');
  const errors = useSignal<ReadonlyMap<string, string>>(new Map());
  const execute = async (work: () => Promise<unknown>): Promise<boolean> => {
    isBusy.value = true;
    failure.value = '';
    errors.value = new Map();
    try {
      await work();
      return true;
    } catch (error) {
      const found = error instanceof ApiProblem ? error.fields : [];
      const shown = found.filter(({ pointer }) => fields.includes(pointer));
      const other = found.filter(({ pointer }) => !fields.includes(pointer));
      errors.value = new Map(shown.map(({ pointer, detail }) => [pointer, detail]));
      if (other.length > 0)
        failure.value = other.map(({ pointer, detail }) => `${pointer} ${detail}`.trim()).join('; ');
      else if (shown.length === 0) failure.value = messageOf(error);
      return false;
    } finally {
      isBusy.value = false;
    }
  };
  return {
    isBusy: isBusy.value,
    failure: failure.value,
    errorOf: (pointer) => errors.value.get(pointer) ?? '',
    execute,
  };
}

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string;
  readonly children: ComponentChildren;
}

/** A control with its label; the control has the attributes of `describedBy`. */
export const Field = ({ id, label, hint, error = '', children }: FieldProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    {children}
    <span class="hint" id={`${id}-hint`}>
      {hint}
    </span>
    {error !== '' && (
      <span class="failure" role="alert" id={`${id}-error`}>
        {error}
      </span>
    )}
  </div>
);

interface Description {
  readonly id: string;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid'?: true;
}

export const describedBy = (id: string, error = ''): Description => ({
  id,
  'aria-describedby': error === '' ? `${id}-hint` : `${id}-hint ${id}-error`,
  ...(error !== '' && { 'aria-invalid': true }),
});

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <div class="form">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
