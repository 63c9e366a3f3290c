import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from '../../api/client';
import { Failure } from '../../components/basics';
import { textOf } from '../../components/operation';
import { absoluteTime, toIso } from '../../format';
import { query, setQuery } from '../../router';
import { type Choice, FILTERS, type RunFilter } from './filters';

/** The filters of the URL, each removed with one click, and a form that adds one. */
export function FilterChips() {
  const isOpen = useSignal(false);
  const opener = useRef<HTMLButtonElement>(null);
  const active = FILTERS.flatMap((filter) => query.value.getAll(filter.name).map((value) => ({ filter, value })));
  const close = (): void => {
    isOpen.value = false;
    opener.current?.focus();
  };
  return (
    <div class="filters">
      <div class="chips" role="group" aria-label="Filters">
        {active.map(({ filter, value }) => (
          <Chip key={`${filter.name} ${value}`} filter={filter} value={value} />
        ))}
        <button
          ref={opener}
          type="button"
          class="chip"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          + Add filter
        </button>
      </div>
      {isOpen.value && <AddFilter onClose={close} />}
    </div>
  );
}

/** The choices of a filter; undefined: they are not there yet, or it has none. */
function useChoices({ name, choices }: RunFilter): { readonly choices?: readonly Choice[]; readonly failure: string } {
  const state = useSignal<{ choices?: readonly Choice[]; failure: string }>({ failure: '' });
  useEffect(() => {
    let isCurrent = true;
    state.value = { failure: '' };
    const set = (next: typeof state.value): void => {
      if (isCurrent) state.value = next;
    };
    choices?.().then(
      (found) => set({ choices: found, failure: '' }),
      (error: unknown) => set({ failure: messageOf(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [name]);
  return state.value;
}

function Chip({ filter, value }: { readonly filter: RunFilter; readonly value: string }) {
  const { choices } = useChoices(filter);
  const label =
    choices?.find((choice) => choice.value === value)?.label ??
    (filter.isTime === true && !Number.isNaN(Date.parse(value)) ? absoluteTime(value) : value);
  const others = query.value.getAll(filter.name).filter((other) => other !== value);
  return (
    <span class="chip filter">
      {filter.label}: <strong>{label}</strong>
      <button
        type="button"
        aria-label={`Remove the filter ${filter.label}: ${label}`}
        onClick={() => setQuery({ [filter.name]: others })}
      >
        ×
      </button>
    </span>
  );
}

function AddFilter({ onClose }: { readonly onClose: () => void }) {
  const name = useSignal('');
  const select = useRef<HTMLSelectElement>(null);
  useEffect(() => select.current?.focus(), []);
  const filter = FILTERS.find((known) => known.name === name.value);
  const add = (value: string): void => {
    if (filter === undefined || value === '') return;
    const before = filter.isMultiple === true ? query.value.getAll(filter.name) : [];
    setQuery({ [filter.name]: [...new Set([...before, value])] });
    onClose();
  };
  return (
    <form
      class="tools"
      aria-label="Add a filter"
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        const value = textOf(new FormData(event.currentTarget), 'value').trim();
        // Links mean the same time in every zone.
        add(filter?.isTime === true ? toIso(value) : value);
      }}
    >
      <select
        ref={select}
        aria-label="Filter by"
        value={name.value}
        onChange={({ currentTarget }) => {
          name.value = currentTarget.value;
        }}
      >
        <option value="">Filter by …</option>
        {FILTERS.map(({ name: known, label }) => (
          <option value={known} key={known}>
            {label}
          </option>
        ))}
      </select>
      {filter !== undefined && <Value key={filter.name} filter={filter} />}
      <button class="primary" disabled={filter === undefined}>
        Add
      </button>
      <button type="button" class="plain" onClick={onClose}>
        Close
      </button>
    </form>
  );
}

function Value({ filter }: { readonly filter: RunFilter }) {
  const { choices, failure } = useChoices(filter);
  if (filter.isTime === true) return <input name="value" type="datetime-local" aria-label={filter.label} required />;
  if (filter.choices === undefined)
    return (
      <input
        name="value"
        aria-label={filter.label}
        required
        placeholder={filter.placeholder ?? ''}
        {...(filter.pattern !== undefined && { pattern: filter.pattern })}
      />
    );
  if (failure !== '') return <Failure message={failure} />;
  return (
    <select name="value" aria-label={filter.label} disabled={choices === undefined} required>
      <option value="">
        {choices === undefined ? 'Loading …' : choices.length === 0 ? 'There is none' : 'Select …'}
      </option>
      {choices?.map(({ value, label }) => (
        <option value={value} key={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
