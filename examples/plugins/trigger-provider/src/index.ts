import { Module } from '@nestjs/common';
import { AutomationsModule, FactoriesModule, Plugin } from 'headrace/plugin';
import { DeployTrigger } from './deploy-trigger.js';
import { DeploymentsController } from './deployments.controller.js';

/** The API validates and tests triggers, and receives the events. */
@Plugin({
  name: 'example-trigger-provider',
  version: '1.0.0',
  headrace: '^0.2',
  processes: ['api'],
})
@Module({
  imports: [AutomationsModule, FactoriesModule],
  providers: [DeployTrigger],
  controllers: [DeploymentsController],
})
export default class DeployTriggerPlugin {}
