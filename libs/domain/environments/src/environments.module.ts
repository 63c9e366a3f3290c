import { Module } from '@nestjs/common';
import { EndUsesOfPersonalEnvironments } from './application/end-uses-of-personal-environments.js';
import { EnvironmentDirectory } from './application/environment-directory.js';
import { EnvironmentGrantsService } from './application/environment-grants.service.js';
import { EnvironmentLinksService } from './application/environment-links.service.js';
import { EnvironmentReferences } from './application/environment-references.js';
import { EnvironmentSetUp } from './application/environment-set-up.js';
import { EnvironmentsService } from './application/environments.service.js';
import { GithubAppTokens } from './application/github-app-tokens.js';
import { LastRuns } from './application/last-runs.js';
import { EnvironmentPresenter } from './http/environment-presenter.js';
import { EnvironmentSharingController, SharedPageController } from './http/environment-sharing.controller.js';
import { EnvironmentsController } from './http/environments.controller.js';
import { EnvironmentGrantsStore } from './persistence/environment-grants.store.js';
import { EnvironmentLinksStore } from './persistence/environment-links.store.js';
import { GithubInstallationsStore } from './persistence/github-installations.store.js';
import { EnvironmentsStore } from './persistence/environments.store.js';

const STORES = [EnvironmentsStore, EnvironmentGrantsStore, EnvironmentLinksStore];
const SERVICES = [EnvironmentsService, EnvironmentGrantsService, EnvironmentLinksService];
const FOR_OTHER_LIBRARIES = [
  EnvironmentDirectory,
  EnvironmentSetUp,
  GithubAppTokens,
  GithubInstallationsStore,
  LastRuns,
];

@Module({
  providers: [...STORES, ...SERVICES, ...FOR_OTHER_LIBRARIES, EnvironmentReferences, EndUsesOfPersonalEnvironments],
  exports: [...SERVICES, ...FOR_OTHER_LIBRARIES],
})
export class EnvironmentsModule {}

@Module({
  imports: [EnvironmentsModule],
  controllers: [EnvironmentsController, EnvironmentSharingController, SharedPageController],
  providers: [EnvironmentPresenter],
})
export class EnvironmentsHttpModule {}
