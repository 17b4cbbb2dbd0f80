/** What users of nodes above may do at the cluster. `access.fromAbove` of the configuration explains the values. */
export const fromAboveValues = ['grants', 'none', 'cluster-admin'] as const;
export type FromAbove = (typeof fromAboveValues)[number];
