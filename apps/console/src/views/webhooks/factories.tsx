import { api, content, type Schemas } from '../../api/client';
import { useResource } from '../../components/resource';
import { query, setQuery } from '../../router';
import { team } from '../../session';

export type Factory = Schemas['FactoryItem'];

/** The factories of the team, and the one that the URL names, or the first one. */
export function useFactories(): {
  readonly factories: readonly Factory[] | undefined;
  readonly factory: Factory | undefined;
  readonly failure: string;
} {
  const list = useResource(() => content(api.GET('/factory', { params: { query: { limit: 500 } } })), team.value ?? '');
  const factories = list.data?.factories;
  const chosen = query.value.get('factory');
  return {
    factories,
    factory: factories?.find(({ uid }) => uid === chosen) ?? factories?.[0],
    failure: list.failure,
  };
}

interface SelectProps {
  readonly factories: readonly Factory[];
  readonly factory: Factory;
}

export const FactorySelect = ({ factories, factory }: SelectProps) =>
  factories.length < 2 ? null : (
    <select
      aria-label="Factory"
      value={factory.uid}
      onChange={({ currentTarget }) => setQuery({ factory: currentTarget.value })}
    >
      {factories.map(({ uid, name }) => (
        <option value={uid} key={uid}>
          {name}
        </option>
      ))}
    </select>
  );
