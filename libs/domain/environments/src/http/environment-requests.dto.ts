import { ObjectField } from '#platform/http';
import { EnvironmentConfigDto } from './environment.dto.js';

export class UpdateEnvironmentRequest {
  @ObjectField(() => EnvironmentConfigDto, {
    description: 'The whole configuration: what is left out is gone. `***` as a value of `env` keeps the stored one.',
  })
  config: EnvironmentConfigDto;
}
