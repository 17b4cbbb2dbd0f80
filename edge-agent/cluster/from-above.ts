/** The rights of users of nodes above at the cluster. `access.fromAbove` of the configuration explains the values. */
export const fromAboveValues = ['grants', 'none', 'cluster-admin'] as const;
export type FromAbove = (typeof fromAboveValues)[number];
