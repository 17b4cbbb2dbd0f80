/** The questions of `banyan plan` to the nodes of a tree, and their answers. */
import type { NodeApiClient } from './api-client.ts';

export type PlanApi = Pick<NodeApiClient, 'ask' | 'contexts' | 'get' | 'list' | 'write'>;

export interface PlanAnswer {
  readonly lines: readonly string[];
  /** Whether a destination would join or leave, or an object would change. */
  readonly isChange: boolean;
}
