import { type Clause, newClause, type Operator } from './filter';

const OPERATORS: readonly (readonly [Operator, string])[] = [
  ['in', 'is one of'],
  ['not_in', 'is none of'],
  ['exists', 'exists'],
  ['missing', 'does not exist'],
  ['object', 'is an object'],
  ['group', 'has an object in which all match'],
];

interface BuilderProps {
  readonly clauses: readonly Clause[];
  readonly onChange: (clauses: readonly Clause[]) => void;
  /** The id of a list of fields that occur in deliveries. */
  readonly suggestions: string;
  readonly label: string;
}

/** All conditions have to match. The rows of a group are those of one object. */
export function FilterBuilder({ clauses, onChange, suggestions, label }: BuilderProps) {
  const replace = (changed: Clause): void => onChange(clauses.map((one) => (one.id === changed.id ? changed : one)));
  return (
    <fieldset class="filter">
      <legend>{label}</legend>
      {clauses.map((clause, index) => {
        const { id, field, operator, values } = clause;
        return (
          <div class="clause" key={id} role="group" aria-label={`Condition ${index + 1}`}>
            <input
              aria-label="Field"
              placeholder="issue.state"
              list={suggestions}
              value={field}
              onInput={({ currentTarget }) => replace({ ...clause, field: currentTarget.value })}
            />
            <select
              aria-label="Operator"
              value={operator}
              onChange={({ currentTarget }) => replace({ ...clause, operator: currentTarget.value as Operator })}
            >
              {OPERATORS.map(([known, text]) => (
                <option value={known} key={known}>
                  {text}
                </option>
              ))}
            </select>
            {(operator === 'in' || operator === 'not_in') && (
              <input
                aria-label="Values"
                placeholder="opened, reopened"
                value={values}
                onInput={({ currentTarget }) => replace({ ...clause, values: currentTarget.value })}
              />
            )}
            <button
              type="button"
              aria-label={`Remove condition ${index + 1}`}
              onClick={() => onChange(clauses.filter((one) => one.id !== id))}
            >
              Remove
            </button>
            {operator === 'group' && (
              <FilterBuilder
                label={`Within ${field === '' ? 'the field' : field}, all of`}
                clauses={clause.clauses}
                suggestions={suggestions}
                onChange={(inner) => replace({ ...clause, clauses: inner })}
              />
            )}
          </div>
        );
      })}
      {clauses.length === 0 && <p class="muted">No condition: every accepted delivery matches.</p>}
      <div>
        <button type="button" onClick={() => onChange([...clauses, newClause()])}>
          Add condition
        </button>
      </div>
    </fieldset>
  );
}
