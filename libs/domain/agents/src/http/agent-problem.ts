import { invalidInput, type ProblemError, rejectionProblem, type ResourceWords } from '#platform/http';
import type { Rejection } from '#platform/kernel';
import type { NameTaken } from '../persistence/team-constraints.js';

export const IDENTITY: ResourceWords = { noun: 'agent identity', plural: 'agent identities', owner: 'A team' };
export const MCP_SERVER: ResourceWords = { noun: 'MCP server', plural: 'MCP servers', owner: 'A team' };

export const agentProblem = (words: ResourceWords, rejection: Rejection | NameTaken): ProblemError =>
  rejection.kind === 'name_taken'
    ? invalidInput([{ pointer: '/name', detail: `is the name of another ${words.noun} of the team` }])
    : rejectionProblem(rejection, words);
