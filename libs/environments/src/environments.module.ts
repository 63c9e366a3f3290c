import { Module } from '@nestjs/common';
import { CreateEnvironment } from './application/create-environment.js';
import { DeleteEnvironment } from './application/delete-environment.js';
import { EnvironmentDirectory, StoredEnvironmentDirectory } from './application/environment-directory.js';
import { FindEnvironment } from './application/find-environment.js';
import { ListEnvironments } from './application/list-environments.js';
import { EnvironmentPresenter } from './http/environment-presenter.js';
import { EnvironmentsController } from './http/environments.controller.js';
import { EnvironmentsStore } from './persistence/environments.store.js';

const USE_CASES = [CreateEnvironment, DeleteEnvironment, FindEnvironment, ListEnvironments];

@Module({
  providers: [EnvironmentsStore, { provide: EnvironmentDirectory, useClass: StoredEnvironmentDirectory }, ...USE_CASES],
  exports: [EnvironmentDirectory, ...USE_CASES],
})
export class EnvironmentsModule {}

@Module({ imports: [EnvironmentsModule], controllers: [EnvironmentsController], providers: [EnvironmentPresenter] })
export class EnvironmentsHttpModule {}
