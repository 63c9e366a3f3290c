import { api, content, type Schemas } from '../api/client';
import { team } from '../session';
import { Field } from './form';
import { textOf } from './operation';
import { useResource } from './resource';

type AgentConfig = Schemas['AmbientAgentConfig'];

interface ConfigFieldsProps {
  /** Where the configuration is in the request, `/config`. */
  readonly pointer: string;
  readonly config?: AgentConfig;
}

/** Agent, model, environment and host of a run. The fields are usable without the lists. */
export function ConfigFields({ pointer, config = {} }: ConfigFieldsProps) {
  const harnesses = useResource(() => content(api.GET('/agent/harnesses')), team.value ?? '');
  const environments = useResource(() => content(api.GET('/agent/environments')), team.value ?? '');
  const agent = config.harness?.type ?? '';
  const environment = config.environment_id ?? '';
  const ids = harnesses.data?.harnesses.map(({ id }) => id) ?? [];
  const known = environments.data?.environments.map(({ uid, config: { name = uid } }) => ({ uid, name })) ?? [];
  return (
    <div class="pair">
      <Field label="Agent" pointer={`${pointer}/harness`}>
        {(control) => (
          <select {...control} name="harness">
            <option value="">Default</option>
            {[...new Set([...ids, ...(agent === '' ? [] : [agent])])].map((id) => (
              <option value={id} key={id} selected={id === agent}>
                {id}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Model" pointer={`${pointer}/model_id`}>
        {(control) => (
          <input
            {...control}
            name="model"
            maxLength={256}
            placeholder="Default of the agent"
            defaultValue={config.model_id ?? ''}
          />
        )}
      </Field>
      <Field label="Environment" pointer={`${pointer}/environment_id`}>
        {(control) => (
          <select {...control} name="environment">
            <option value="">None</option>
            {environment !== '' && !known.some(({ uid }) => uid === environment) && (
              <option value={environment} key={environment} selected>
                {environment}
              </option>
            )}
            {known.map(({ uid, name }) => (
              <option value={uid} key={uid} selected={uid === environment}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Worker host" pointer={`${pointer}/worker_host`}>
        {(control) => <input {...control} name="host" placeholder="Hosted" defaultValue={config.worker_host ?? ''} />}
      </Field>
    </div>
  );
}

/** The configuration with what the fields say; the rest of it stays. Undefined: there is nothing in it. */
export function configOf(data: FormData, before: AgentConfig = {}): AgentConfig | undefined {
  const { harness, model_id: _, environment_id: __, worker_host: ___, ...rest } = before;
  const value = (name: string): string => textOf(data, name).trim();
  const type = value('harness');
  const config = {
    ...rest,
    ...(value('environment') !== '' && { environment_id: value('environment') }),
    ...(type !== '' && { harness: harness?.type === type ? harness : { type } }),
    ...(value('model') !== '' && { model_id: value('model') }),
    ...(value('host') !== '' && { worker_host: value('host') }),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}
