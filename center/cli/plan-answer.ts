/** What `banyan plan` needs of a tree, and what it prints. */
import type { NodeApiClient } from './api-client.ts';

export type PlanApi = Pick<NodeApiClient, 'ask' | 'contexts' | 'get' | 'list' | 'write'>;

export interface PlanAnswer {
  readonly lines: readonly string[];
  /** Whether a destination would join or leave, or an object would change. */
  readonly isChange: boolean;
}
