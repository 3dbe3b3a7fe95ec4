% A crane with two arms on its slide, for this test
function [n dof type alp a b th bt r dx dy dz m g  Icxx Icyy Iczz Icxy Icyz Iczx aj al]=inputs()
n=4;  dof=n;   % links
type=0;        % 0: no loops
al=[0.5; 0.4; 0.3; 0.2];
alp=[0; -pi/2; pi/3; ...   turns about x
     -pi/6];
a=[0, al(1), al(2)/2 -al(2)/4]';
b = [0.4 0.15 -0.05 +0.05];
th=[0.7; pi/4; 0; 1];
r=[1; 0; 1; 1];
bt=[0 1 2 2];
aj=[1; 1; 0; 1];
dx=al/2; dy=[0 0 0.01 0]; dz=zeros(1,n);
dz(2) = -al(2)^2;
m=[2; 1.5e0; 1; 0.5];
g=[0; 0; -9.81];
%{
Icxx = 'nothing of this is read'
%}
Icxx=zeros(n,1);Icyy=zeros(n,1);Iczz=zeros(n,1);
Icxy=zeros(n,1);Icyz=zeros(n,1);Iczx=zeros(n,1);
Icxx(1)=(1/12)*m(1)*.1*.1; Icyy(1)=(1/12)*m(1)*al(1)^2; Iczz(1)=Icyy(1);
Icxx(2)=0.02; Icyy(2)=0.03; Iczz(2)=0.02; Icxy(2)=-0.001; Icyz(2)=0.002; Iczx(2)=0.003;
Icxx(3)=0.02; Icyy(3)=sqrt(0.0009); Iczz(3)=0.04*cos(0);
Icyy(4)=1e-3; Iczz(4)=1e-3;
end
