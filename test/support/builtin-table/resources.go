package main

func core(k, r string, namespaced bool, short ...string) kind {
	return kind{Version: "v1", Kind: k, Resource: r, Namespaced: namespaced, Short: short}
}

func in(group, version, k, r string, namespaced bool, short ...string) kind {
	return kind{Group: group, Version: version, Kind: k, Resource: r, Namespaced: namespaced, Short: short}
}

func (k kind) status() kind { k.Status = true; return k }
func (k kind) scale() kind  { k.Scale = true; k.Status = true; return k }
func (k kind) all() kind    { k.Categories = []string{"all"}; return k }
func (k kind) ext() kind    { k.Categories = []string{"api-extensions"}; return k }

// The GA kinds that a real server serves, with short names and categories as `kubectl api-resources -o wide` shows them.
var resources = []kind{
	core("ConfigMap", "configmaps", true, "cm"),
	core("Endpoints", "endpoints", true, "ep"),
	core("Event", "events", true, "ev"),
	core("LimitRange", "limitranges", true, "limits"),
	core("Namespace", "namespaces", false, "ns").status(),
	core("Node", "nodes", false, "no").status(),
	core("PersistentVolume", "persistentvolumes", false, "pv").status(),
	core("PersistentVolumeClaim", "persistentvolumeclaims", true, "pvc").status(),
	core("Pod", "pods", true, "po").all().status(),
	core("PodTemplate", "podtemplates", true),
	core("ReplicationController", "replicationcontrollers", true, "rc").all().scale(),
	core("ResourceQuota", "resourcequotas", true, "quota").status(),
	core("Secret", "secrets", true),
	core("Service", "services", true, "svc").all().status(),
	core("ServiceAccount", "serviceaccounts", true, "sa"),
	in("apps", "v1", "ControllerRevision", "controllerrevisions", true),
	in("apps", "v1", "DaemonSet", "daemonsets", true, "ds").all().status(),
	in("apps", "v1", "Deployment", "deployments", true, "deploy").all().scale(),
	in("apps", "v1", "ReplicaSet", "replicasets", true, "rs").all().scale(),
	in("apps", "v1", "StatefulSet", "statefulsets", true, "sts").all().scale(),
	in("batch", "v1", "CronJob", "cronjobs", true, "cj").all().status(),
	in("batch", "v1", "Job", "jobs", true).all().status(),
	in("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, "hpa").all().status(),
	in("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true, "hpa").all().status(),
	in("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true, "pdb").status(),
	in("networking.k8s.io", "v1", "Ingress", "ingresses", true, "ing").status(),
	in("networking.k8s.io", "v1", "IngressClass", "ingressclasses", false),
	in("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true, "netpol"),
	in("networking.k8s.io", "v1", "IPAddress", "ipaddresses", false, "ip"),
	in("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", false).status(),
	in("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false),
	in("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false),
	in("rbac.authorization.k8s.io", "v1", "Role", "roles", true),
	in("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true),
	in("storage.k8s.io", "v1", "CSIDriver", "csidrivers", false),
	in("storage.k8s.io", "v1", "CSINode", "csinodes", false),
	in("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", true),
	in("storage.k8s.io", "v1", "StorageClass", "storageclasses", false, "sc"),
	in("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", false).status(),
	in("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses", false, "vac"),
	in("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false, "pc"),
	in("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true),
	in("events.k8s.io", "v1", "Event", "events", true, "ev"),
	in("coordination.k8s.io", "v1", "Lease", "leases", true),
	in("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", false, "csr").status(),
	in("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false).ext(),
	in("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false).ext(),
	in("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false).ext().status(),
	in("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false).ext(),
	in("apiregistration.k8s.io", "v1", "APIService", "apiservices", false).ext().status(),
	in("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false, "crd", "crds").ext().status(),
	in("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", false).status(),
	in("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", false).status(),
	in("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false),
	in("autoscaling", "v1", "Scale", "", false),
	in("policy", "v1", "Eviction", "", false),
	in("", "v1", "Binding", "", false),
	in("authentication.k8s.io", "v1", "TokenRequest", "", false),
	in("authentication.k8s.io", "v1", "TokenReview", "", false),
	in("authentication.k8s.io", "v1", "SelfSubjectReview", "", false),
	in("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "", false),
	in("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "", false),
	in("authorization.k8s.io", "v1", "SubjectAccessReview", "", false),
	in("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "", false),
}
