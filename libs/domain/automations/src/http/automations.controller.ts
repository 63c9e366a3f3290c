import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { FactoryAccess } from '#domain/factories';
import { Operation, pageInfo, pathId } from '#platform/http';
import { CreateAutomation } from '../application/create-automation.js';
import { DeleteAutomation } from '../application/delete-automation.js';
import { FindAutomations } from '../application/find-automations.js';
import { ReplaceAutomation } from '../application/replace-automation.js';
import {
  AutomationItem,
  CreateAutomationRequest,
  ListAutomationsParameters,
  ListAutomationsResponse,
  ReplaceAutomationRequest,
} from './automation.dto.js';
import { toRequestedAutomation } from './automation-input.js';
import { presentAutomation } from './automation-presenter.js';
import { automationRefusal, managedScope } from './automation-refusals.js';

const TAG = 'Automations';
const DEFAULT_LIMIT = 100;

/** Reading suffices at the door: the role that counts is that on the factory's team, which `FactoryAccess` knows. */
@Controller('factories/:factoryUid/automations')
export class AutomationsController {
  constructor(
    private readonly access: FactoryAccess,
    private readonly find: FindAutomations,
    private readonly create: CreateAutomation,
    private readonly replace: ReplaceAutomation,
    private readonly remove: DeleteAutomation,
  ) {}

  @Get()
  @Authorize('factories:read')
  @Operation({
    id: 'listAutomations',
    summary: 'List the automations of a factory',
    description: 'By name. Needs the role admin or owner, as everything here.',
    tag: TAG,
    success: { status: 200, description: 'A page.', type: ListAutomationsResponse },
    errors: [400, 403, 404],
  })
  async listAutomations(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Query() { limit = DEFAULT_LIMIT, cursor }: ListAutomationsParameters,
  ): Promise<ListAutomationsResponse> {
    const scope = await managedScope(this.access, caller, factoryUid);
    const result = await this.find.page(scope, { limit, cursor: cursor ?? null });
    if (result.kind !== 'page') throw automationRefusal(result);
    const { views, nextCursor } = result;
    return {
      automations: views.map(presentAutomation),
      page_info: pageInfo(nextCursor),
    };
  }

  @Post()
  @Authorize('factories:read')
  @Operation({
    id: 'createAutomation',
    summary: 'Have runs started by what happens',
    description:
      'Each event that fires one of its triggers starts one run, which the team owns and whose creator is who saved the automation last. It may use what the team may: environments, agent identities and MCP servers of the team; others are a 403, the same as ones that do not exist. A factory has at most 2,000.',
    tag: TAG,
    request: {
      value: {
        name: 'nightly',
        enabled: true,
        prompt: 'Update the dependencies.',
        triggers: [{ provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 3 * * *' } }],
      },
    },
    success: { status: 201, description: 'The automation.', type: AutomationItem },
    errors: [400, 403, 'limit_reached', 404, 413, 415],
  })
  async createAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Body() body: CreateAutomationRequest,
  ): Promise<AutomationItem> {
    const scope = await managedScope(this.access, caller, factoryUid);
    const result = await this.create.execute(scope, authorOf(caller), toRequestedAutomation(body));
    if (result.kind !== 'created') throw automationRefusal(result);
    return presentAutomation(result.view);
  }

  @Get(':uid')
  @Authorize('factories:read')
  @Operation({
    id: 'getAutomation',
    summary: 'Get an automation',
    tag: TAG,
    success: { status: 200, description: 'The automation.', type: AutomationItem },
    errors: [400, 403, 404],
  })
  async getAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<AutomationItem> {
    const result = await this.find.find(await managedScope(this.access, caller, factoryUid), uid);
    if (result.kind !== 'found') throw automationRefusal(result);
    return presentAutomation(result.view);
  }

  @Put(':uid')
  @Authorize('factories:read')
  @Operation({
    id: 'replaceAutomation',
    summary: 'Change an automation',
    description:
      'Sets all of it: what is left out is gone. What a GET answers can be sent back: triggers and references that it had may stay although what they name is gone, and `***` keeps a value of `env` or `headers` as long as the server’s program or address stays and no other value of it is given in clear. The name of one from a definition cannot be changed here.',
    tag: TAG,
    request: {
      value: {
        name: 'nightly',
        enabled: false,
        prompt: 'Update the dependencies.',
        triggers: [{ provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 3 * * *' } }],
      },
    },
    success: { status: 200, description: 'The automation as it is now.', type: AutomationItem },
    errors: [400, 403, 404, 413, 415, 422],
  })
  async replaceAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
    @Body() body: ReplaceAutomationRequest,
  ): Promise<AutomationItem> {
    const scope = await managedScope(this.access, caller, factoryUid);
    const result = await this.replace.execute(scope, authorOf(caller), uid, toRequestedAutomation(body));
    if (result.kind !== 'replaced') throw automationRefusal(result);
    return presentAutomation(result.view);
  }

  @Delete(':uid')
  @Authorize('factories:read')
  @Operation({
    id: 'deleteAutomation',
    summary: 'Delete an automation',
    description: 'Nothing starts it any more. Runs that it has started go on.',
    tag: TAG,
    success: { status: 204, description: 'It is gone.' },
    errors: [400, 403, 404],
  })
  async deleteAutomation(
    @CurrentCaller() caller: Caller,
    @Param('factoryUid', pathId('uid')) factoryUid: string,
    @Param('uid', pathId('uid')) uid: string,
  ): Promise<void> {
    const result = await this.remove.execute(await managedScope(this.access, caller, factoryUid), uid);
    if (result.kind !== 'deleted') throw automationRefusal(result);
  }
}

const authorOf = ({ principal: { type, uid } }: Caller) => ({ type, uid });
