import { useSignal } from '@preact/signals';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useMemo, useRef } from 'preact/hooks';
import { ApiProblem, messageOf } from '../api/client';
import { Failure } from './basics';

type FieldErrors = ApiProblem['fields'];

/** Where the fields of a form find the errors of the last attempt, and say which parts of the request are theirs. */
const FormErrors = createContext<{ readonly pointers: Set<string>; readonly errors: FieldErrors }>({
  pointers: new Set(),
  errors: [],
});

const isBelow = (pointer: string, parent: string): boolean => pointer === parent || pointer.startsWith(`${parent}/`);

interface FormProps {
  readonly class?: string;
  /** The label of the button that submits the form. */
  readonly submit: string;
  readonly send: (data: FormData) => Promise<void>;
  readonly children: ComponentChildren;
  /** What is beside the button that submits it. */
  readonly actions?: ComponentChildren;
}

/** What the API rejects is shown beside its field, and the rest above the buttons. */
export function Form({ class: className = 'form', submit, send, children, actions }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const isBusy = useSignal(false);
  const failure = useSignal<{ readonly message: string; readonly errors: FieldErrors }>({ message: '', errors: [] });
  const pointers = useMemo(() => new Set<string>(), []);
  useEffect(() => {
    if (failure.value.errors.length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [failure.value]);
  const execute = async (data: FormData): Promise<void> => {
    isBusy.value = true;
    failure.value = { message: '', errors: [] };
    try {
      await send(data);
    } catch (error) {
      failure.value = { message: messageOf(error), errors: error instanceof ApiProblem ? error.fields : [] };
    } finally {
      isBusy.value = false;
    }
  };
  const { message, errors } = failure.value;
  const others = errors.filter(({ pointer }) => ![...pointers].some((known) => isBelow(pointer, known)));
  const general =
    errors.length === 0 ? message : others.map(({ pointer, detail }) => `${pointer} ${detail}`.trim()).join('; ');
  return (
    <FormErrors.Provider value={{ pointers, errors }}>
      <form
        ref={form}
        class={className}
        onSubmit={(event) => {
          event.preventDefault();
          void execute(new FormData(event.currentTarget));
        }}
      >
        {children}
        <Failure message={general} />
        <div class="actions">
          <button class="primary" disabled={isBusy.value}>
            {submit}
          </button>
          {actions}
        </div>
      </form>
    </FormErrors.Provider>
  );
}

interface DialogFormProps extends FormProps {
  readonly title: string;
  /** The form is also closed when it was sent. */
  readonly onClose: () => void;
}

export function DialogForm({ title, onClose, send, children, actions, ...form }: DialogFormProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <Form
        {...form}
        send={async (data) => {
          await send(data);
          dialog.current?.close();
        }}
        actions={
          <>
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
            {actions}
          </>
        }
      >
        <h2 id={heading}>{title}</h2>
        {children}
      </Form>
    </dialog>
  );
}

interface ControlProps {
  readonly id: string;
  readonly 'aria-invalid'?: true;
  readonly 'aria-describedby'?: string;
}

interface FieldProps {
  readonly label: string;
  /** The part of the request that the field fills, `/config/env`: its errors are shown here. */
  readonly pointer?: string;
  /** What is wrong without a request. */
  readonly error?: string;
  readonly hint?: ComponentChildren;
}

/** What is below the control or the controls of a field, and the ids that describe them. */
function useNotes({ pointer, error = '', hint }: FieldProps, id: string) {
  const form = useContext(FormErrors);
  if (pointer !== undefined) form.pointers.add(pointer);
  const rejected = pointer === undefined ? [] : form.errors.filter((found) => isBelow(found.pointer, pointer));
  const errors = [
    ...(error === '' ? [] : [error]),
    ...rejected.map(({ pointer: of, detail }) => {
      const part = of.slice((pointer ?? '').length + 1);
      return part === '' ? detail : `${part}: ${detail}`;
    }),
  ];
  const ids = [...(hint === undefined ? [] : [`${id}-hint`]), ...(errors.length === 0 ? [] : [`${id}-error`])];
  return {
    hasErrors: errors.length > 0,
    described: ids.length > 0 ? { 'aria-describedby': ids.join(' ') } : {},
    notes: (
      <>
        {hint !== undefined && (
          <span class="hint" id={`${id}-hint`}>
            {hint}
          </span>
        )}
        {errors.length > 0 && (
          <span class="failure" role="alert" id={`${id}-error`}>
            {errors.join('; ')}
          </span>
        )}
      </>
    ),
  };
}

interface ControlFieldProps extends FieldProps {
  readonly children: (control: ControlProps) => ComponentChildren;
}

export function Field({ children, ...props }: ControlFieldProps) {
  const id = useId();
  const { hasErrors, described, notes } = useNotes(props, id);
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {children({ id, ...described, ...(hasErrors && { 'aria-invalid': true }) })}
      {notes}
    </div>
  );
}

interface FieldGroupProps extends FieldProps {
  /** Each control has a label. */
  readonly children: ComponentChildren;
}

/** A field of several controls. */
export function FieldGroup({ children, ...props }: FieldGroupProps) {
  const id = useId();
  const { described, notes } = useNotes(props, id);
  return (
    <div class="field" role="group" aria-labelledby={id} {...described}>
      <span class="label" id={id}>
        {props.label}
      </span>
      {children}
      {notes}
    </div>
  );
}
