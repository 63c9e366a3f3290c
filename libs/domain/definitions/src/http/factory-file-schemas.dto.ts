import { JsonField, ObjectField, StringField } from '#platform/http';

const schema = { schema: { type: 'object', additionalProperties: true } } as const;

export class FactoryFileSchemas {
  @JsonField({ ...schema, description: 'Of factory.yaml.' }) factory: object;
  @JsonField({ ...schema, description: 'Of webhooks/<name>.yaml.' }) webhook: object;
  @JsonField({ ...schema, description: 'Of the front matter of automations/<name>/automation.md.' }) automation: object;
  @JsonField({ ...schema, description: 'Of the front matter of agents/<name>/agent.md.' }) agent: object;
  @JsonField({ ...schema, description: 'Of the front matter of SKILL.md.' }) skill: object;
}

export class GetFactoryFileSchemasResponse {
  @StringField({ description: 'What `schemaVersion` in factory.yaml says.', example: 'v1alpha1' })
  schema_version: string;
  @ObjectField(() => FactoryFileSchemas, { description: 'JSON Schemas (2020-12), each complete by itself.' })
  schemas: FactoryFileSchemas;
}
