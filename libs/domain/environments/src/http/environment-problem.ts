import { type ProblemError, rejectionProblem } from '#platform/http';
import type { Rejection } from '#platform/kernel';

export const environmentProblem = (rejection: Rejection): ProblemError =>
  rejectionProblem(rejection, { noun: 'environment', plural: 'environments' });
