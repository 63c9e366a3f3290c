import { Module } from '@nestjs/common';
import { CreateEnvironment } from './application/create-environment.js';
import { DeleteEnvironment } from './application/delete-environment.js';
import { EnvironmentDirectory, StoredEnvironmentDirectory } from './application/environment-directory.js';
import { GrantEnvironment, ListGrants, RevokeGrant } from './application/environment-grants.js';
import { CreateLink, ListLinks, RevokeLink } from './application/environment-links.js';
import { EnvironmentReferences } from './application/environment-references.js';
import { EnvironmentSetUp } from './application/environment-set-up.js';
import { FindEnvironment } from './application/find-environment.js';
import { LastRuns } from './application/last-runs.js';
import { ListEnvironments } from './application/list-environments.js';
import { RedeemLink } from './application/redeem-link.js';
import { UpdateEnvironment } from './application/update-environment.js';
import { EnvironmentGrantsController } from './http/environment-grants.controller.js';
import { EnvironmentLinksController } from './http/environment-links.controller.js';
import { EnvironmentPresenter } from './http/environment-presenter.js';
import { EnvironmentsController } from './http/environments.controller.js';
import { RedeemLinkController } from './http/redeem-link.controller.js';
import { SharedPageController } from './http/shared-page.controller.js';
import { SharingPresenter } from './http/sharing-presenter.js';
import { EnvironmentGrantsStore } from './persistence/environment-grants.store.js';
import { EnvironmentLinksStore } from './persistence/environment-links.store.js';
import { EnvironmentsStore } from './persistence/environments.store.js';

const STORES = [EnvironmentsStore, EnvironmentGrantsStore, EnvironmentLinksStore];
const USE_CASES = [
  CreateEnvironment,
  UpdateEnvironment,
  DeleteEnvironment,
  FindEnvironment,
  ListEnvironments,
  GrantEnvironment,
  ListGrants,
  RevokeGrant,
  CreateLink,
  ListLinks,
  RevokeLink,
  RedeemLink,
];

@Module({
  providers: [
    ...STORES,
    ...USE_CASES,
    { provide: EnvironmentDirectory, useClass: StoredEnvironmentDirectory },
    LastRuns,
    EnvironmentReferences,
    EnvironmentSetUp,
  ],
  exports: [EnvironmentDirectory, EnvironmentSetUp, LastRuns, ...USE_CASES],
})
export class EnvironmentsModule {}

@Module({
  imports: [EnvironmentsModule],
  controllers: [
    EnvironmentsController,
    RedeemLinkController,
    EnvironmentGrantsController,
    EnvironmentLinksController,
    SharedPageController,
  ],
  providers: [EnvironmentPresenter, SharingPresenter],
})
export class EnvironmentsHttpModule {}
