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

interface DialogFormProps {
  readonly title: string;
  /** The label of the button that submits the form. */
  readonly submit: string;
  /** The form is closed when it resolves. */
  readonly send: (data: FormData) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Buttons beside those that submit and close it. */
  readonly actions?: ComponentChildren;
}

/** A form in a dialog. What the API rejects is shown beside its field, and the rest above the buttons. */
export function DialogForm({ title, submit, send, onClose, children, actions }: DialogFormProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const isBusy = useSignal(false);
  const failure = useSignal<{ readonly message: string; readonly errors: FieldErrors }>({ message: '', errors: [] });
  const pointers = useMemo(() => new Set<string>(), []);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [failure.value]);
  const execute = async (data: FormData): Promise<void> => {
    isBusy.value = true;
    failure.value = { message: '', errors: [] };
    try {
      await send(data);
      dialog.current?.close();
    } catch (error) {
      failure.value = { message: messageOf(error), errors: error instanceof ApiProblem ? error.fields : [] };
    } finally {
      isBusy.value = false;
    }
  };
  const { message, errors } = failure.value;
  const others = errors.filter(({ pointer }) => ![...pointers].some((known) => isBelow(pointer, known)));
  const general =
    errors.length === 0 ? message : others.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ');
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={onClose}>
      <FormErrors.Provider value={{ pointers, errors }}>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            void execute(new FormData(event.currentTarget));
          }}
        >
          <h2 id={heading}>{title}</h2>
          {children}
          <Failure message={general} />
          <div class="actions">
            <button class="primary" disabled={isBusy.value}>
              {submit}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
            {actions}
          </div>
        </form>
      </FormErrors.Provider>
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
  readonly pointer: string;
  readonly hint?: ComponentChildren;
}

/** What is below the control or the controls of a field, and the ids that describe them. */
function useNotes({ pointer, hint }: FieldProps, id: string) {
  const form = useContext(FormErrors);
  form.pointers.add(pointer);
  const errors = form.errors.filter((error) => isBelow(error.pointer, pointer));
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
          <span class="failure" id={`${id}-error`}>
            {errors
              .map(({ pointer: of, detail }) =>
                of === pointer ? detail : `${of.slice(pointer.length + 1)}: ${detail}`,
              )
              .join('; ')}
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
